// SPDX-License-Identifier: MIT OR Apache-2.0
//! The state of CPUs and tasks, written down after an error (`scx_dump_state`).
//!
//! It looks like a kernel's, but for addresses. The stacks of tasks, which a kernel adds, are left out: tasks have none
//! here.

use tandem_bpf_vm::memory::Memory;

use super::abi::guest::args::DumpCtx;
use super::abi::profile::SCX_TASK_STATE_SHIFT;
use super::entity::OpsState;
use super::exit::{ExitInfo, ExitState, SCX_EXIT_DUMP_DFL_LEN, SCX_EXIT_MSG_LEN, cut};
use super::ops::Op;
use super::rq::ScxRq;
use super::tasks::SCX_TASK_STATE_MASK;
use super::watchdog::jiffies_to_ms;
use super::{Ctx, State};
use crate::kernel::Kernel;
use crate::kernel::cpumask::CpuMask;
use crate::kernel::task::{ClassId, TaskState};
use crate::units::{CpuId, TaskId};

/// What stands at the end of a dump that was cut.
const TRUNC_MARKER: &str = "\n\n~~~~ TRUNCATED ~~~~\n";

/// The text of a dump under way, and what a callback adds to it.
#[derive(Debug, Default)]
pub struct DumpData {
    text: String,
    /// Put before each line of a callback.
    prefix: &'static str,
    /// The CPU on which it may be added to (`scx_dump_data.cpu`); `None` outside of the callbacks.
    cpu: Option<CpuId>,
    /// The callback has not said anything yet.
    first: bool,
    /// What it has said since the last whole line.
    line: String,
}

impl DumpData {
    /// `dump_line`.
    fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    /// Several lines.
    fn lines(&mut self, lines: &[impl AsRef<str>]) {
        for line in lines {
            self.line(line.as_ref());
        }
    }

    /// Why there is a dump; `current` is what ran where it happened.
    fn cause(&mut self, info: &ExitInfo, current: &str) {
        self.line(&format!("{current} triggered exit kind {}:", info.kind.value()));
        self.line(&format!("  {} ({})", info.reason, info.message));
        self.lines(&["", "Backtrace:"]);
        for place in &info.backtrace {
            self.line(&format!("  {place}"));
        }
    }

    /// `ops_dump_init`.
    fn begin(&mut self, prefix: &'static str, cpu: CpuId) {
        (self.prefix, self.cpu, self.first) = (prefix, Some(cpu), true);
        self.line.clear();
    }

    /// A callback adds `text` (`scx_bpf_dump_bstr`); whole lines go out, the rest waits.
    fn add(&mut self, text: &str) {
        let room = SCX_EXIT_MSG_LEN - self.line.len();
        self.line.push_str(&cut(text.to_owned(), room));
        if text.len() >= room || self.line.ends_with('\n') {
            self.flush();
        }
    }

    /// `ops_dump_flush`: what was added goes out, line by line, after an empty line if it is the first.
    fn flush(&mut self) {
        let added = std::mem::take(&mut self.line);
        if added.is_empty() {
            return;
        }
        if self.first {
            self.line("");
            self.first = false;
        }
        for line in added.strip_suffix('\n').unwrap_or(&added).split('\n') {
            let line = format!("{}{line}", self.prefix);
            self.line(&line);
        }
    }

    /// `ops_dump_exit`.
    fn end(&mut self) {
        self.flush();
        self.cpu = None;
    }
}

/// The text of a dump cut to `limit` bytes, null byte included, with a mark at its end if something is missing.
fn truncated(text: String, limit: usize) -> String {
    if text.len() < limit {
        return text;
    }
    let room = limit.saturating_sub(TRUNC_MARKER.len());
    if limit <= TRUNC_MARKER.len() { cut(text, limit) } else { cut(text, room) + TRUNC_MARKER }
}

/// A mask as the kernel prints it (`%*pb`): hexadecimal, the highest CPU first, commas between 32 of them.
pub(super) fn bitmap(mask: &CpuMask, nr_cpus: usize) -> String {
    let chunk = |index: usize| {
        let bits = nr_cpus.min((index + 1) * 32) - index * 32;
        let set = (0..bits).filter(|bit| mask.test(CpuId::at(index * 32 + bit)));
        let value = set.fold(0_u32, |value, bit| value | 1 << bit);
        format!("{value:0width$x}", width = bits.div_ceil(4))
    };
    let chunks: Vec<String> = (0..nr_cpus.div_ceil(32)).rev().map(chunk).collect();
    chunks.join(",")
}

/// `rq->scx.flags` (`enum scx_rq_flags`).
fn rq_flags(rq: &ScxRq) -> u32 {
    let bits = [
        (rq.online, 0),
        (rq.can_stop_tick, 1),
        (rq.bal_pending, 2),
        (rq.bal_keep, 3),
        (rq.bypassing, 4),
        (rq.in_wakeup, 16),
        (rq.in_balance, 17),
    ];
    bits.iter().fold(0, |flags, (set, bit)| flags | u32::from(*set) << bit)
}

/// `enum scx_ops_state`.
fn ops_state_number(state: OpsState) -> u32 {
    match state {
        OpsState::None => 0,
        OpsState::Queueing(_) => 1,
        OpsState::Queued(_) => 2,
    }
}

/// `jiffies_delta_msecs`: from `now` to `at`, negative if `at` is over, in ms.
fn delta_ms(at: u64, now: u64, hz: u64) -> i64 {
    if at > now { jiffies_to_ms(at - now, hz) as i64 } else { -(jiffies_to_ms(now - at, hz) as i64) }
}

/// `comm[pid]` of what runs on `cpu`.
fn curr_name(scx: &State, memory: &Memory, kernel: &Kernel, cpu: CpuId) -> String {
    let curr = kernel.rq(cpu).curr;
    curr.map_or_else(|| format!("swapper/{cpu}[0]"), |task| scx.guest.comm_pid(memory, task))
}

/// The class of what runs on `cpu`, as the kernel's variables are called.
fn curr_class(kernel: &Kernel, cpu: CpuId) -> &'static str {
    match kernel.rq(cpu).curr.map(|task| kernel.task(task).class) {
        Some(ClassId::Dl) => "dl_sched_class",
        Some(ClassId::Rt) => "rt_sched_class",
        Some(ClassId::Fair) => "fair_sched_class",
        Some(ClassId::Ext) => "ext_sched_class",
        None => "idle_sched_class",
    }
}

/// What a dump says of a CPU.
fn rq_lines(scx: &State, memory: &Memory, kernel: &Kernel, cpu: CpuId) -> [String; 3] {
    let rq = &scx.rqs[cpu];
    let (nr_running, flags) = (kernel.rq(cpu).ext_nr_running, rq_flags(rq));
    let (released, pnt_seq) = (u8::from(rq.cpu_released), rq.pnt_seq);
    [
        String::new(),
        format!("CPU {cpu:<4}: nr_run={nr_running} flags={flags:#x} cpu_rel={released} pnt_seq={pnt_seq}"),
        format!("          curr={} class={}", curr_name(scx, memory, kernel, cpu), curr_class(kernel, cpu)),
    ]
}

/// What a dump says of a task.
fn task_lines(scx: &State, memory: &Memory, kernel: &Kernel, task: TaskId, marker: char) -> [String; 5] {
    let (entity, dsqs) = (&scx.tasks[task], &scx.dsqs);
    let state = if kernel.task(task).state == TaskState::Runnable { 'R' } else { 'S' };
    let since = delta_ms(entity.runnable_at, kernel.jiffies(), kernel.params.hz);
    let dsq = dsqs.dsq_of(task).map_or_else(|| "(n/a)".to_owned(), |dsq| format!("{:#x}", dsqs.id(dsq)));
    let sticky = entity.sticky_cpu.map_or(-1, |cpu| i64::from(cpu.0));
    let (ops_state, qseq) = (ops_state_number(entity.ops_state), entity.ops_state.qseq());
    let known = (entity.flags & SCX_TASK_STATE_MASK) >> SCX_TASK_STATE_SHIFT;
    let flags = entity.flags & !SCX_TASK_STATE_MASK;
    let dsq_flags = u32::from(dsqs.is_on_priq(task));
    let vtime = scx.guest.dsq_vtime(memory, task);
    let nr_cpus = kernel.topology.nr_cpus;
    let all = CpuMask::of(nr_cpus, (0..nr_cpus).map(CpuId::at));
    let narrowed = kernel.task(task).narrowed.then(|| CpuMask::of(nr_cpus, [kernel.task(task).cpu]));
    let cpus = bitmap(narrowed.as_ref().or(kernel.task(task).allowed.as_deref()).unwrap_or(&all), nr_cpus);
    [
        String::new(),
        format!(" {marker}{state} {} {since:+}ms", scx.guest.comm_pid(memory, task)),
        format!("      scx_state/flags={known}/{flags:#x} dsq_flags={dsq_flags:#x} ops_state/qseq={ops_state}/{qseq}"),
        format!("      sticky/holding_cpu={sticky}/-1 dsq_id={dsq} dsq_vtime={vtime}"),
        format!("      cpus={cpus}"),
    ]
}

/// A program adds to a dump and no dump callback is at work on its CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("scx_bpf_dump() must only be called from ops.dump() and friends")]
pub struct NoDump;

impl ExitState {
    /// `scx_bpf_dump_bstr` with its text formatted, by the callback that is at work on `cpu`: adds to the dump.
    ///
    /// # Errors
    /// [`NoDump`].
    pub fn add_to_dump(&mut self, cpu: Option<CpuId>, text: &str) -> Result<(), NoDump> {
        let dump = self.dumping.as_mut().filter(|dump| dump.cpu.is_some() && dump.cpu == cpu);
        dump.map(|dump| dump.add(text)).ok_or(NoDump)
    }
}

impl Ctx<'_> {
    /// The dump after the error `info`, as long as the scheduler wants it.
    pub(super) fn scx_dump_state(&mut self, info: &ExitInfo) -> String {
        self.scx.exit.dumping = Some(DumpData::default());
        let current = curr_name(self.scx, &self.vm.memory, self.kernel, info.cpu);
        self.scx.exit.dump().cause(info, &current);
        let context = DumpCtx {
            kind: info.kind.value(),
            exit_code: info.exit_code,
            reason: info.reason,
            at: self.kernel.now,
            at_jiffies: self.kernel.jiffies(),
        };
        let context = self.scx.guest.dump_ctx(&mut self.vm.memory, &context);
        self.ops_dump(Op::Dump, "", info.cpu, &[context]);
        self.scx.exit.dump().lines(&["", "CPU states", "----------"]);
        for cpu in (0..self.kernel.topology.nr_cpus).map(CpuId::at) {
            self.dump_cpu(context, cpu, info.cpu);
        }
        let limit = match self.scx.ops.exit_dump_len {
            0 => SCX_EXIT_DUMP_DFL_LEN,
            limit => limit,
        };
        let text = self.scx.exit.dumping.take().unwrap_or_default().text;
        truncated(text, limit as usize)
    }

    /// Lets the scheduler add to the dump.
    fn ops_dump(&mut self, op: Op, prefix: &'static str, cpu: CpuId, args: &[u64]) {
        if !self.scx.ops.has(op) {
            return;
        }
        self.scx.exit.dump().begin(prefix, cpu);
        self.call_op(op, cpu, None, [None; 2], args);
        self.scx.exit.dump().end();
    }

    /// One CPU and its tasks; of an idle CPU only what the scheduler says, if it says something. `here` is where the dump
    /// is made.
    fn dump_cpu(&mut self, context: u64, cpu: CpuId, here: CpuId) {
        let waiting = self.scx.rqs[cpu].runnable_list(&self.scx.tasks);
        let curr = self.kernel.rq(cpu).curr;
        let idle = waiting.is_empty() && curr.is_none();
        if idle && !self.scx.ops.has(Op::DumpCpu) {
            return;
        }
        let before = self.scx.exit.dump().text.len();
        let lines = rq_lines(self.scx, &self.vm.memory, self.kernel, cpu);
        self.scx.exit.dump().lines(&lines);
        let without = self.scx.exit.dump().text.len();
        self.ops_dump(Op::DumpCpu, "  ", here, &[context, u64::from(cpu.0), u64::from(idle)]);
        if idle && self.scx.exit.dump().text.len() == without {
            self.scx.exit.dump().text.truncate(before);
            return;
        }
        if let Some(task) = curr.filter(|task| self.kernel.task(*task).class == ClassId::Ext) {
            self.dump_task(context, task, '*', here);
        }
        for task in waiting {
            self.dump_task(context, task, ' ', here);
        }
    }

    /// `scx_dump_task`.
    fn dump_task(&mut self, context: u64, task: TaskId, marker: char, here: CpuId) {
        let lines = task_lines(self.scx, &self.vm.memory, self.kernel, task, marker);
        self.scx.exit.dump().lines(&lines);
        let address = self.scx.guest.task(task);
        self.ops_dump(Op::DumpTask, "    ", here, &[context, address]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_are_printed_as_the_kernel_does() {
        let mask = |cpus: &[u32], count| bitmap(&CpuMask::of(count, cpus.iter().map(|cpu| CpuId(*cpu))), count);
        assert_eq!(mask(&[0, 1, 3], 4), "b");
        assert_eq!(mask(&[0], 6), "01");
        assert_eq!(mask(&[31, 33], 34), "2,80000000");
        assert_eq!(mask(&[], 64), "00000000,00000000");
    }

    #[test]
    fn a_callbacks_lines_may_come_in_pieces() {
        let mut dump = DumpData::default();
        dump.line("head");
        dump.begin("  ", CpuId(0));
        dump.add("one ");
        dump.add("line\n");
        dump.add("two\nlines");
        dump.end();
        assert_eq!(dump.text, "head\n\n  one line\n  two\n  lines\n");
    }

    #[test]
    fn a_silent_callback_leaves_no_trace() {
        let mut dump = DumpData::default();
        dump.begin("  ", CpuId(0));
        dump.end();
        assert_eq!(dump.text, "");
    }

    #[test]
    fn a_line_without_an_end_goes_out_when_its_buffer_is_full() {
        let mut dump = DumpData::default();
        dump.begin("", CpuId(0));
        dump.add(&"x".repeat(2000));
        dump.add("y");
        dump.end();
        assert_eq!(dump.text, format!("\n{}\ny\n", "x".repeat(1023)));
    }

    #[test]
    fn a_long_dump_ends_with_a_mark() {
        assert_eq!(truncated("x".repeat(99), 100), "x".repeat(99));
        let cut = truncated("x".repeat(200), 100);
        assert_eq!((cut.len(), cut.ends_with(TRUNC_MARKER)), (99, true));
        assert_eq!(truncated("x".repeat(200), 4), "xxx");
    }

    #[test]
    fn past_times_are_negative() {
        assert_eq!([delta_ms(100, 125, 250), delta_ms(125, 100, 250), delta_ms(5, 5, 250)], [-100, 100, 0]);
    }
}
