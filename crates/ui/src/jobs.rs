// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runs, one after the other: each is a process of the command in a folder of its own.
//!
//! A comparison is run after 1, 2, 4, … runs of each scheduler, and after all, so that there is a report early and it grows: the
//! command keeps finished runs, and makes none twice. A run that is cancelled is ended at once.

use std::collections::{BTreeMap, VecDeque};
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde::Serialize;
use tempfile::TempDir;

use crate::request::{PAGE, REPORT, TRACE, Task};

/// Jobs that are remembered, and those that may wait.
const MOST_KEPT: usize = 50;
const MOST_WAITING: usize = 10;
/// Bytes of what a command said that are shown: its end.
const MOST_SAID: u64 = 8 << 10;
/// How often a command is looked at.
const PERIOD: Duration = Duration::from_millis(30);
/// What the command says on standard error.
const SAID: &str = "said.txt";
/// Where the command says how far it is, and the variable that tells it so.
const PROGRESS: &str = "progress.txt";
const PROGRESS_VARIABLE: &str = "TANDEM_PROGRESS";
/// The store of finished runs, where the environment turns it off.
const STORE: &str = "TANDEM_STORE";

/// Exit status of a command whose results are there although a scheduler was ejected.
const EJECTED: i32 = 4;

/// What became of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    Waiting,
    Running,
    Done,
    Failed,
    Cancelled,
}

/// A job as the page shows it.
#[derive(Debug, Clone, Serialize)]
pub struct Job {
    pub id: u64,
    /// The command as a person would type it.
    pub command: String,
    pub state: State,
    /// Runs of each scheduler that the results have.
    pub done: u32,
    /// Runs of each scheduler that were asked for.
    pub runs: u32,
    /// How often there were new results.
    pub results: u32,
    /// Whether there is a page of them.
    pub page: bool,
    /// How far it is, while it runs.
    pub progress: Option<Progress>,
    /// How long it has run, or ran.
    pub seconds: f64,
    /// The end of what the command said: progress, warnings, what went wrong.
    pub said: String,
}

/// How far a job is, as a terminal would show it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Progress {
    /// Of a comparison: how many runs of all schedulers are done, of how many, and how long the rest takes, if that can be said.
    Runs { done: u32, of: u32, left_s: Option<f64> },
    /// Of a run: `forkjoin: 1.250 s simulated of 10.00 s at most`.
    Words(String),
}

impl Progress {
    /// What the command says of the stage that it is at, for all stages: `12 of 40 runs`, or words.
    fn of(said: &str, task: &Task, done: u32, seconds: f64) -> Option<Self> {
        let said = said.trim();
        let counts = said.strip_suffix(" runs").and_then(|counts| counts.split_once(" of "));
        let counts = counts.and_then(|(done, of)| Some((done.parse::<f64>().ok()?, of.parse::<f64>().ok()?)));
        let Some((stage_done, stage_of)) = counts else {
            return Some(Self::Words(said.to_owned())).filter(|_| !said.is_empty() && task.runs.is_none());
        };
        let next = task.stages().into_iter().find(|stage| *stage > done)?;
        let share = if stage_of > 0.0 { (stage_done / stage_of).min(1.0) } else { 1.0 };
        let finished = (f64::from(done) + share * f64::from(next - done)) * f64::from(task.schedulers);
        let of = task.runs? * task.schedulers;
        let left = seconds / finished * (f64::from(of) - finished);
        Some(Self::Runs { done: finished as u32, of, left_s: Some(left).filter(|left| left.is_finite()) })
    }
}

/// All jobs, and the thread that runs them.
pub struct Jobs {
    shared: Arc<Shared>,
    worker: Option<JoinHandle<()>>,
    /// Goes last.
    _folder: TempDir,
}

struct Shared {
    program: OsString,
    folder: PathBuf,
    known: Mutex<Known>,
    /// Something is waiting, or all shall end.
    news: Condvar,
}

#[derive(Default)]
struct Known {
    next: u64,
    jobs: BTreeMap<u64, (Job, Task)>,
    waiting: VecDeque<u64>,
    began: Option<Instant>,
    ended: bool,
}

/// There are too many jobs already.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{MOST_WAITING} runs are waiting already: cancel one, or wait")]
pub struct TooMany;

impl Jobs {
    /// No jobs yet. `program` is the command.
    ///
    /// # Errors
    /// There is no room for their files, or no thread for them.
    pub fn new(program: OsString) -> io::Result<Self> {
        let folder = tempfile::Builder::new().prefix("tandem-ui-").tempdir()?;
        let path = folder.path().to_owned();
        let shared = Arc::new(Shared { program, folder: path, known: Mutex::default(), news: Condvar::new() });
        let of_worker = Arc::clone(&shared);
        let worker = std::thread::Builder::new().name("runs".to_owned()).spawn(move || of_worker.work())?;
        Ok(Self { shared, worker: Some(worker), _folder: folder })
    }

    /// Takes up a task: its number.
    ///
    /// # Errors
    /// Too many are waiting.
    pub fn add(&self, task: Task) -> Result<u64, TooMany> {
        let mut known = self.shared.known();
        if known.waiting.len() >= MOST_WAITING {
            return Err(TooMany);
        }
        let id = known.next;
        known.next += 1;
        let job = Job {
            id,
            command: task.shown(),
            state: State::Waiting,
            done: 0,
            runs: task.runs.unwrap_or(1),
            results: 0,
            page: false,
            progress: None,
            seconds: 0.0,
            said: String::new(),
        };
        known.jobs.insert(id, (job, task));
        known.waiting.push_back(id);
        let most = known.jobs.len().saturating_sub(MOST_KEPT);
        let old = known.jobs.values().filter(|(job, _)| job.state.is_over()).take(most).map(|(job, _)| job.id);
        for id in old.collect::<Vec<_>>() {
            known.jobs.remove(&id);
            // What cannot be removed now goes with the folder at the end.
            let _ = fs::remove_dir_all(self.shared.folder_of(id));
        }
        self.shared.news.notify_all();
        Ok(id)
    }

    /// All jobs, the newest first.
    pub fn all(&self) -> Vec<Job> {
        let ids: Vec<u64> = self.shared.known().jobs.keys().rev().copied().collect();
        ids.into_iter().filter_map(|id| self.one(id)).collect()
    }

    /// A job; `None` if there is none of that number.
    pub fn one(&self, id: u64) -> Option<Job> {
        let known = self.shared.known();
        let (job, task) = known.jobs.get(&id)?;
        let mut job = job.clone();
        if job.state == State::Running {
            let folder = self.shared.folder_of(id);
            job.seconds = known.began.map_or(0.0, |began| began.elapsed().as_secs_f64());
            let reached = fs::read_to_string(folder.join(PROGRESS)).ok();
            job.progress = reached.and_then(|reached| Progress::of(&reached, task, job.done, job.seconds));
            drop(known);
            job.said = said(&folder);
        }
        Some(job)
    }

    /// Ends a job. Whether it was not over yet.
    pub fn cancel(&self, id: u64) -> bool {
        let mut known = self.shared.known();
        known.waiting.retain(|waiting| *waiting != id);
        match known.jobs.get_mut(&id) {
            Some((job, _)) if !job.state.is_over() => {
                job.state = State::Cancelled;
                true
            }
            _ => false,
        }
    }

    /// The results of a job, as JSON or as a page.
    pub fn file(&self, id: u64, name: &str) -> Option<Vec<u8>> {
        let name = [REPORT, PAGE].into_iter().find(|known| *known == name)?;
        self.shared.known().jobs.contains_key(&id).then_some(())?;
        fs::read(self.shared.folder_of(id).join(name)).ok()
    }
}

impl Drop for Jobs {
    fn drop(&mut self) {
        self.shared.known().ended = true;
        self.shared.news.notify_all();
        if let Some(worker) = self.worker.take() {
            // A panic of the worker was told when it happened.
            let _ = worker.join();
        }
    }
}

impl State {
    fn is_over(self) -> bool {
        matches!(self, Self::Done | Self::Failed | Self::Cancelled)
    }
}

/// How a command ended.
enum Ended {
    /// By itself, with this status; `None` is a signal.
    Itself(Option<i32>),
    /// Because the job was cancelled, or all end.
    Cancelled,
}

impl Shared {
    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn folder_of(&self, id: u64) -> PathBuf {
        self.folder.join(format!("run-{id}"))
    }

    /// Runs what is waiting, until all shall end.
    fn work(&self) {
        loop {
            let mut known = self.known();
            let (id, task) = loop {
                if known.ended {
                    return;
                }
                let next = known.waiting.pop_front();
                if let Some((job, task)) = next.and_then(|id| known.jobs.get_mut(&id)) {
                    job.state = State::Running;
                    break (job.id, task.clone());
                }
                known = self.news.wait(known).unwrap_or_else(PoisonError::into_inner);
            };
            known.began = Some(Instant::now());
            drop(known);
            let folder = self.folder_of(id);
            let state = self.run(id, &task, &folder);
            let mut known = self.known();
            let seconds = known.began.take().map_or(0.0, |began| began.elapsed().as_secs_f64());
            if let Some((job, _)) = known.jobs.get_mut(&id) {
                let wrong = state.as_ref().err().map(|error| format!("error: {error}\n")).unwrap_or_default();
                job.said = said(&folder) + &wrong;
                job.seconds = seconds;
                if job.state == State::Running {
                    job.state = state.unwrap_or(State::Failed);
                }
            }
        }
    }

    /// Runs a task, stage by stage.
    fn run(&self, id: u64, task: &Task, folder: &Path) -> io::Result<State> {
        fs::create_dir(folder)?;
        for (name, text) in &task.files {
            fs::write(folder.join(name), text)?;
        }
        for runs in task.stages() {
            match self.command(id, folder, &task.words(runs))? {
                Ended::Cancelled => return Ok(State::Cancelled),
                Ended::Itself(Some(0 | EJECTED)) => {}
                Ended::Itself(_) => return Ok(State::Failed),
            }
            let page = self.page(id, folder)?;
            // The next stage says so itself.
            let _ = fs::remove_file(folder.join(PROGRESS));
            if let Some((job, _)) = self.known().jobs.get_mut(&id) {
                (job.done, job.results, job.page) = (runs, job.results + 1, page);
            }
        }
        Ok(State::Done)
    }

    /// Makes the page of the results. Whether there is one.
    fn page(&self, id: u64, folder: &Path) -> io::Result<bool> {
        let trace = folder.join(TRACE).exists().then_some(TRACE);
        let words = ["report", REPORT].into_iter().chain(trace).chain(["-o", PAGE]).map(str::to_owned);
        let ended = self.command(id, folder, &words.collect::<Vec<_>>())?;
        // The page has what it needs of the trace, which may be large.
        let _ = fs::remove_file(folder.join(TRACE));
        Ok(matches!(ended, Ended::Itself(Some(0))))
    }

    /// Runs the command with these words in a folder, and waits for its end, or ends it.
    fn command(&self, id: u64, folder: &Path, words: &[String]) -> io::Result<Ended> {
        let said = File::options().create(true).append(true).open(folder.join(SAID))?;
        let mut command = Command::new(&self.program);
        command.args(words).current_dir(folder).stdin(Stdio::null()).stdout(Stdio::null()).stderr(said);
        command.env(PROGRESS_VARIABLE, folder.join(PROGRESS));
        if std::env::var_os(STORE).is_some_and(|store| store == "off") {
            command.env(STORE, self.folder.join("store"));
        }
        let mut child = command.spawn()?;
        loop {
            if let Some(status) = child.try_wait()? {
                return Ok(Ended::Itself(status.code()));
            }
            if self.is_cancelled(id) {
                end(&mut child)?;
                return Ok(Ended::Cancelled);
            }
            std::thread::sleep(PERIOD);
        }
    }

    fn is_cancelled(&self, id: u64) -> bool {
        let known = self.known();
        known.ended || known.jobs.get(&id).is_none_or(|(job, _)| job.state == State::Cancelled)
    }
}

fn end(child: &mut Child) -> io::Result<()> {
    child.kill()?;
    child.wait().map(drop)
}

/// The end of what the commands in a folder said.
fn said(folder: &Path) -> String {
    let read = || -> io::Result<Vec<u8>> {
        let mut file = File::open(folder.join(SAID))?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(MOST_SAID)))?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    String::from_utf8_lossy(&read().unwrap_or_default()).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::Request;

    fn task(schedulers: &str, runs: u32) -> Task {
        let json = format!(
            r#"{{ "machine": {{ "name": "hikey960" }}, "workload": {{ "name": "forkjoin" }}, "schedulers": [{schedulers}], "runs": {runs} }}"#
        );
        serde_json::from_str::<Request>(&json).unwrap().task().unwrap()
    }

    #[test]
    fn progress_counts_the_runs_of_all_stages() {
        let compared = task(r#""fair", "tandem""#, 10);
        // Two of each were made; the next stage has two more of each, four runs, of which one is done, after 5 s: five of twenty.
        let progress = Progress::of("1 of 4 runs", &compared, 2, 5.0);
        assert_eq!(progress, Some(Progress::Runs { done: 5, of: 20, left_s: Some(15.0) }));
        assert_eq!(
            Progress::of("0 of 2 runs", &compared, 0, 5.0),
            Some(Progress::Runs { done: 0, of: 20, left_s: None }),
            "of nothing nobody can say how long the rest takes"
        );
        // What was finished before is not run again.
        let all_found = Progress::of("0 of 0 runs", &compared, 8, 1.0);
        assert_eq!(all_found, Some(Progress::Runs { done: 20, of: 20, left_s: Some(0.0) }));
        assert_eq!(Progress::of("1 of 4 runs", &compared, 10, 5.0), None, "all stages are over");
    }

    #[test]
    fn of_one_run_the_commands_own_words_are_shown() {
        let words = "forkjoin: 1.250 s simulated of 10.00 s at most";
        assert_eq!(Progress::of(words, &task(r#""fair""#, 1), 0, 1.0), Some(Progress::Words(words.to_owned())));
        assert_eq!(Progress::of("", &task(r#""fair""#, 1), 0, 1.0), None);
    }
}
