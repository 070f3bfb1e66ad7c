// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which process each thread belongs to, and which thread made that: what loaded schedulers see of applications.
//!
//! An application's threads are threads of one process, unless their task says that each is a process of its own
//! (`tandem.process`). The application's first process is as if its user had started it, init being its parent; further
//! ones are its children, or those of the thread that forked them. System tasks are processes of their own.

use super::threads::Threads;
use crate::kernel::Kernel;
use crate::scx::abi::GuestTaskInfo;
use crate::scx::abi::profile::{PF_KTHREAD, PF_NO_SETAFFINITY};
use crate::units::TaskId;
use crate::workload::TaskSpec;

/// Processes so far.
#[derive(Debug, Default)]
pub(super) struct Processes {
    /// By thread.
    members: Vec<Member>,
    /// By application: the first thread of its first process.
    first: Vec<Option<TaskId>>,
    /// By application: the first thread of the process to which ordinary threads belong that no thread of it forked.
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
    /// Whether the first process of an application begins with this thread.
    pub fn begins(&self, application: usize, task: TaskId) -> bool {
        self.first.get(application) == Some(&Some(task))
    }

    /// The first thread of the process of `task`.
    pub fn leader(&self, task: TaskId) -> TaskId {
        self.members[task.index()].leader
    }

    /// Puts a new thread, which was forked by this one if any, into its process. To be called for all threads, in order.
    pub fn join(&mut self, kind: &TaskSpec, task: TaskId, forked_by: Option<(TaskId, &TaskSpec)>) {
        let application = kind.application;
        let sibling = forked_by.filter(|(_, forker)| !forker.system && forker.application == application);
        let forked_by = forked_by.map(|(forker, _)| forker);
        if self.first.len() <= application {
            self.first.resize(application + 1, None);
            self.main.resize(application + 1, None);
        }
        let member = if kind.system {
            Member { leader: task, parent: forked_by }
        } else {
            let first = *self.first[application].get_or_insert(task);
            let parent = forked_by.or(Some(first).filter(|first| *first != task));
            match sibling {
                _ if kind.process => Member { leader: task, parent },
                Some((sibling, _)) => self.members[sibling.index()],
                None => match *self.main[application].get_or_insert(task) {
                    main if main == task => Member { leader: task, parent },
                    main => self.members[main.index()],
                },
            }
        };
        self.members.push(member);
    }
}

impl Threads<'_> {
    /// What a loaded scheduler sees of a thread called `comm`.
    pub fn guest_info<'a>(&self, task: TaskId, kernel: &Kernel, comm: &'a str) -> GuestTaskInfo<'a> {
        let known = kernel.task(task);
        let Member { leader, parent } = self.processes.members[task.index()];
        let pinned = known.allowed.as_ref().is_some_and(|allowed| allowed.iter().count() == 1);
        let flags = match self[task].kind.kernel_thread {
            true if pinned => PF_KTHREAD | PF_NO_SETAFFINITY,
            true => PF_KTHREAD,
            false => 0,
        };
        GuestTaskInfo {
            pid: task.pid() as i32,
            tgid: leader.pid() as i32,
            parent,
            maker: self[task].parent.or(Some(leader).filter(|leader| *leader != task)).or(parent),
            comm,
            flags,
            cgroup: Some(known.cgroup),
            start_time: kernel.now,
        }
    }
}
