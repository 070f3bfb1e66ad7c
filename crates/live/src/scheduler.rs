// SPDX-License-Identifier: MIT OR Apache-2.0
//! A scheduler that the kernel has accepted.

use std::os::fd::AsFd;
use std::sync::Arc;

use libbpf_rs::query::ProgInfoIter;
use libbpf_rs::{Link, MapCore, MapFlags, Program, ProgramInput, ProgramType};
use tandem_bpf_vm::object::Object;
use tandem_bpf_vm::open::{OpenObject, SettingError};

use crate::error::LiveError;
use crate::exit::Exit;
use crate::messages::collect;
use crate::open::{is_struct_ops, section_of};
use crate::sidecar::Call;

/// A loaded scheduler; it goes when this is dropped.
#[derive(Debug)]
pub struct Scheduler {
    // Links go before what they link.
    links: Vec<Link>,
    object: libbpf_rs::Object,
    source: Arc<Object>,
}

/// A program that the verifier accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verified {
    /// Its name.
    pub name: String,
    /// Its instructions, with those of the functions that it calls.
    pub instructions: usize,
    /// How many instructions the verifier followed, on all paths; a million are too many.
    pub followed: u32,
}

impl Scheduler {
    pub(crate) fn new(object: libbpf_rs::Object, source: Arc<Object>) -> Self {
        Self { links: Vec::new(), object, source }
    }

    /// The programs, in the order of the object.
    pub fn programs(&self) -> Vec<Verified> {
        let infos: Vec<_> = ProgInfoIter::default().collect();
        let verified = |program: Program<'_>| {
            let id = Program::id_from_fd(program.as_fd()).ok()?;
            let followed = infos.iter().find(|info| info.id == id)?.verified_insns;
            let name = program.name().to_string_lossy().into_owned();
            Some(Verified { name, instructions: program.insn_cnt(), followed })
        };
        self.object.progs().filter_map(verified).collect()
    }

    /// Runs a program of type `syscall`, whose context is its arguments, 32 bits each. A result below 0 is a refusal.
    pub(crate) fn run(&self, call: &Call) -> Result<(), LiveError> {
        let Some(program) = self.object.progs_mut().find(|program| program.name() == call.program.as_str()) else {
            let problem = Some("the object has no such program".to_owned());
            return Err(LiveError::Problem { program: call.program.clone(), problem });
        };
        let mut context: Vec<u8> = call.arguments.iter().flat_map(|argument| argument.to_ne_bytes()).collect();
        let context_in = (!context.is_empty()).then_some(context.as_mut_slice());
        let (ran, messages) = collect(|| program.test_run(ProgramInput { context_in, ..ProgramInput::default() }));
        let ran = ran.map_err(|why| LiveError::Libbpf { what: format!("running {}", call.program), why, messages })?;
        if (ran.return_value as i32) < 0 {
            let problem = self.text("problem").filter(|text| !text.is_empty());
            return Err(LiveError::Problem { program: call.program.clone(), problem });
        }
        Ok(())
    }

    /// What an array of characters has now, up to its end.
    fn text(&self, name: &str) -> Option<String> {
        let open = OpenObject::new(Arc::new(self.now()));
        let bytes = open.bytes(name).ok()?.split(|byte| *byte == 0).next()?;
        Some(String::from_utf8_lossy(bytes).into_owned())
    }

    /// Attaches the programs that watch the kernel, then the scheduler: from now on it schedules all fair tasks.
    ///
    /// # Errors
    /// [`LiveError::Libbpf`]; if `ops.init` refuses, the kernel's log says why.
    pub fn attach(&mut self) -> Result<(), LiveError> {
        for program in self.object.progs_mut().filter(|program| attaches_itself(program.prog_type())) {
            let (link, messages) = collect(|| program.attach());
            let what = || format!("attaching {}", program.name().to_string_lossy());
            self.links.push(link.map_err(|why| LiveError::Libbpf { what: what(), why, messages })?);
        }
        for mut map in self.object.maps_mut().filter(is_struct_ops) {
            let (link, messages) = collect(|| map.attach_struct_ops());
            let what = || format!("attaching the scheduler {}", map.name().to_string_lossy());
            self.links.push(link.map_err(|why| LiveError::Libbpf { what: what(), why, messages })?);
        }
        Ok(())
    }

    /// Detaches it: tasks are fair again when this returns. Its maps can still be read.
    pub fn detach(&mut self) {
        // The scheduler was attached last.
        while self.links.pop().is_some() {}
    }

    /// How it ended; `None` if it has not, or does not say.
    pub fn exit(&self) -> Option<Exit> {
        Exit::read(&Arc::new(self.now()))
    }

    /// The value that a global variable, or part of one, has now, as a text.
    ///
    /// # Errors
    /// There is no such variable.
    pub fn variable(&self, name: &str) -> Result<String, SettingError> {
        OpenObject::new(Arc::new(self.now())).text(name)
    }

    /// The object with its global data as it is now.
    fn now(&self) -> Object {
        let mut now = Object::clone(&self.source);
        for map in self.object.maps() {
            let name = map.name().to_string_lossy();
            let Some(section) = section_of(&self.source, &name).map(|section| &section.name) else { continue };
            let Ok(Some(value)) = map.lookup(&0_u32.to_ne_bytes(), MapFlags::ANY) else { continue };
            let into = now.data.iter_mut().find(|data| data.name == *section);
            if let Some(into) = into.filter(|into| into.bytes.len() <= value.len()) {
                let length = into.bytes.len();
                into.bytes.copy_from_slice(&value[..length]);
            }
        }
        now
    }
}

/// Whether a program is attached by what its section says, not by the scheduler or as a system call.
fn attaches_itself(kind: ProgramType) -> bool {
    matches!(
        kind,
        ProgramType::Tracing
            | ProgramType::Kprobe
            | ProgramType::Tracepoint
            | ProgramType::RawTracepoint
            | ProgramType::RawTracepointWritable
    )
}
