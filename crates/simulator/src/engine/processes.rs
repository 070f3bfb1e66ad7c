// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which process each thread belongs to, and who made that: what loaded schedulers see of applications.
//!
//! An application's threads are threads of one process, unless their task says that each is a process of its own
//! (`tandem.process`). The application's first process is as if its user had started it, init being its parent; further
//! ones are its children, or those of whoever forked them. System tasks are processes of their own.

use super::Engine;
use crate::scx::Scx;
use crate::scx::abi::GuestTaskInfo;
use crate::scx::abi::profile::{PF_KTHREAD, PF_NO_SETAFFINITY};
use crate::scx::frontend::tasks::TaskMaps;
use crate::units::TaskId;

/// Processes so far.
#[derive(Debug, Default)]
pub(super) struct Processes {
    /// By thread.
    members: Vec<Member>,
    /// By application: the first thread of its first process.
    first: Vec<Option<TaskId>>,
    /// By application: the first thread of the process to which ordinary threads belong that nobody of it forked.
    main: Vec<Option<TaskId>>,
}

/// A thread's place.
#[derive(Debug, Clone, Copy)]
struct Member {
    /// The first thread of its process (`group_leader`).
    leader: TaskId,
    /// The thread that made the process (`real_parent`); `None`: init.
    parent: Option<TaskId>,
}

impl Processes {
    /// The first process of an application begins with this thread.
    fn begins(&self, application: usize, task: TaskId) -> bool {
        self.first.get(application) == Some(&Some(task))
    }
}

impl Engine<'_> {
    /// Puts a new thread into its process. To be called for all threads, in order.
    pub(super) fn join_process(&mut self, task: TaskId) {
        let kind = self.kind_of(task);
        let forked_by = self.threads[task.index()].parent;
        let sibling = forked_by.filter(|parent| {
            let parent = self.kind_of(*parent);
            !parent.system && parent.application == kind.application
        });
        let (system, own_process, application) = (kind.system, kind.process, kind.application);
        let processes = &mut self.processes;
        if processes.first.len() <= application {
            processes.first.resize(application + 1, None);
            processes.main.resize(application + 1, None);
        }
        let member = if system {
            Member { leader: task, parent: forked_by }
        } else {
            let first = *processes.first[application].get_or_insert(task);
            let parent = forked_by.or(Some(first).filter(|first| *first != task));
            match sibling {
                _ if own_process => Member { leader: task, parent },
                Some(sibling) => processes.members[sibling.index()],
                None => match *processes.main[application].get_or_insert(task) {
                    main if main == task => Member { leader: task, parent },
                    main => processes.members[main.index()],
                },
            }
        };
        processes.members.push(member);
    }

    fn kind_of(&self, task: TaskId) -> &crate::workload::TaskSpec {
        &self.workload.tasks[self.threads[task.index()].spec as usize]
    }

    /// What a loaded scheduler sees of a thread called `comm`.
    pub(super) fn guest_info<'a>(&self, task: TaskId, comm: &'a str) -> GuestTaskInfo<'a> {
        let Member { leader, parent } = self.processes.members[task.index()];
        let known = self.scheduler.kernel.task(task);
        let pinned = known.allowed.as_ref().is_some_and(|allowed| allowed.iter().count() == 1);
        let flags = match self.kind_of(task).kernel_thread {
            true if pinned => PF_KTHREAD | PF_NO_SETAFFINITY,
            true => PF_KTHREAD,
            false => 0,
        };
        GuestTaskInfo {
            pid: task.pid() as i32,
            tgid: leader.pid() as i32,
            parent,
            maker: self.threads[task.index()].parent.or(Some(leader).filter(|leader| *leader != task)).or(parent),
            comm,
            flags,
            cgroup: Some(known.cgroup),
            start_time: self.agenda.now(),
        }
    }

    /// Enters in the scheduler's maps what its loader, or the thread's program, knows of `task` before `init_task` runs for
    /// it: what `maps` asks for. Without room the scheduler does not know, and a warning says so.
    pub(super) fn enter_in_maps(&mut self, scx: &mut Scx, maps: &TaskMaps, task: TaskId) {
        let kind = self.kind_of(task);
        let (length, application) = (kind.relative_length, kind.application);
        let begins = !kind.system && self.processes.begins(application, task);
        let hint = length.is_none_or(|length| maps.hint(&mut scx.vm, task.pid(), length));
        let entered = !begins || maps.enter_application(&mut scx.vm, task.pid(), application as u32 + 1);
        if !hint {
            self.outcome.warn("the scheduler's map of relative lengths is full: it does not get them all".to_owned());
        }
        if !entered {
            self.outcome.warn("the scheduler's map of applications is full: it does not get them all".to_owned());
        }
    }
}
