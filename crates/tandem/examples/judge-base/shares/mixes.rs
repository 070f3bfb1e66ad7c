// SPDX-License-Identifier: GPL-2.0-only
//! Mixes of threads that compute for ever, for a machine of any size.

use serde_json::{Map, Value, json};
use tandem_simulator::workload::Workload;

use crate::contest::Outcome;
use crate::workloads::written;

/// Simulated time of a mix, in seconds.
const DURATION: u32 = 10;

/// The mixes' names.
pub const MIXES: [&str; 12] = [
    "nice 0 5 10, 1 per CPU each",
    "nice -20 0 19, 1 per CPU each",
    "nice 0 1, half of the CPUs each and 1 more",
    "all nice values on a CPU",
    "nice 0 and SCHED_IDLE, 1 per CPU each",
    "nice 0 on half, SCHED_IDLE on all",
    "nice 0 that sleeps half, nice 10 hogs",
    "groups 100 300, 1 per CPU each",
    "groups 100 100, 1 and 3 per CPU",
    "groups 100 10000, 1 per CPU each",
    "nested groups",
    "idle group",
];

/// What a thread of `SCHED_IDLE` weighs, over one of nice 0.
const IDLE: f64 = 3.0 / 1024.0;

/// A mix, and what the weights say.
pub struct Mix {
    /// The threads.
    pub workload: Workload,
    /// Each application's share in points if CPU time were shared by weight among all threads, each on one CPU at most. `None`
    /// where threads sleep, and take what they want.
    pub by_weight: Option<Vec<f64>>,
}

/// Threads of one weight.
struct Kind {
    name: String,
    instances: u32,
    /// A thread's weight, over that of nice 0.
    weight: f64,
}

/// A file whose tasks and groups are added one by one.
#[derive(Default)]
struct File {
    tasks: Map<String, Value>,
    groups: Map<String, Value>,
    kinds: Vec<Kind>,
}

impl File {
    /// `instances` threads of this weight that compute, in an application of their own, with more `keys`.
    fn hogs(mut self, name: &str, instances: u32, weight: f64, keys: Value) -> Self {
        let mut task = json!({ "instance": instances, "run": 100_000, "tandem": { "application": name } });
        if let (Some(task), Value::Object(keys)) = (task.as_object_mut(), keys) {
            task.extend(keys);
        }
        self.tasks.insert(name.to_owned(), task);
        self.kinds.push(Kind { name: name.to_owned(), instances, weight });
        self
    }

    /// Threads of a nice value.
    fn nice(self, nice: i32, instances: u32) -> Self {
        self.hogs(&format!("nice{nice}"), instances, of_nice(nice), json!({ "priority": nice }))
    }

    /// Threads of `SCHED_IDLE`.
    fn idle(self, instances: u32) -> Self {
        self.hogs("idle", instances, IDLE, json!({ "policy": "SCHED_IDLE" }))
    }

    /// A group that holds groups.
    fn group(mut self, path: &str, weight: u32) -> Self {
        self.groups.insert(path.to_owned(), json!({ "weight": weight }));
        self
    }

    /// A group with what is written to it and its threads, which together weigh `share` parts of all groups' threads.
    fn grouped(mut self, path: &str, what: Value, (instances, share): (u32, f64)) -> Self {
        self.groups.insert(path.to_owned(), what);
        self.hogs(path, instances, share / f64::from(instances), json!({ "taskgroup": path }))
    }

    fn read(self, name: &str, cpus: u32) -> Outcome<Mix> {
        let file = json!({
            "global": { "duration": DURATION },
            "tandem": { "cgroups": self.groups },
            "tasks": self.tasks,
        });
        let workload = written(name, &file)?;
        let shares = by_weight(&self.kinds, f64::from(cpus));
        let of = |application: &String| self.kinds.iter().position(|kind| kind.name == *application);
        let by_weight = workload.applications.iter().map(|name| Some(shares[of(name)?])).collect();
        Ok(Mix { workload, by_weight })
    }
}

/// A nice value's weight over that of nice 0.
fn of_nice(nice: i32) -> f64 {
    1.25f64.powi(-nice)
}

/// Each kind's share of `cpus` CPUs, in points: by weight, but no thread has more than a CPU.
fn by_weight(kinds: &[Kind], cpus: f64) -> Vec<f64> {
    let mut full = vec![false; kinds.len()];
    let threads = |kind: &Kind| f64::from(kind.instances);
    loop {
        let taken: f64 = kinds.iter().zip(&full).filter(|(_, full)| **full).map(|(kind, _)| threads(kind)).sum();
        let open = kinds.iter().zip(&full).filter(|(_, full)| !**full);
        let weights: f64 = open.map(|(kind, _)| threads(kind) * kind.weight).sum();
        let per_weight = (cpus - taken) / weights;
        let before = full.clone();
        for (kind, full) in kinds.iter().zip(&mut full) {
            *full |= kind.weight * per_weight > 1.0;
        }
        if full == before {
            let of = |(kind, full): (&Kind, &bool)| threads(kind) * if *full { 1.0 } else { kind.weight * per_weight };
            let time: Vec<f64> = kinds.iter().zip(&full).map(of).collect();
            let all: f64 = time.iter().sum();
            return time.iter().map(|time| 100.0 * time / all).collect();
        }
    }
}

/// The mix of this name on `cpus` CPUs.
pub fn mix(name: &str, cpus: u32) -> Outcome<Mix> {
    let file = File::default();
    let weight = |weight: u32| json!({ "weight": weight });
    let (file, cpus) = match name {
        "nice 0 5 10, 1 per CPU each" => (file.nice(0, cpus).nice(5, cpus).nice(10, cpus), cpus),
        "nice -20 0 19, 1 per CPU each" => (file.nice(-20, cpus).nice(0, cpus).nice(19, cpus), cpus),
        "nice 0 1, half of the CPUs each and 1 more" => (file.nice(0, cpus / 2 + 1).nice(1, cpus / 2), cpus),
        "all nice values on a CPU" => {
            let add = |file: File, nice: i32| {
                file.hogs(&format!("nice{nice}"), 1, of_nice(nice), json!({ "priority": nice, "cpus": [0] }))
            };
            ((-20..20).fold(file, add), 1)
        }
        "nice 0 and SCHED_IDLE, 1 per CPU each" => (file.nice(0, cpus).idle(cpus), cpus),
        "nice 0 on half, SCHED_IDLE on all" => (file.nice(0, cpus / 2).idle(cpus), cpus),
        "nice 0 that sleeps half, nice 10 hogs" => {
            let file = file.hogs("sleeper", cpus, 1.0, json!({ "run": 3000, "sleep": 3000 })).nice(10, cpus);
            return Ok(Mix { by_weight: None, ..file.read(name, cpus)? });
        }
        "groups 100 300, 1 per CPU each" => {
            (file.grouped("/a", weight(100), (cpus, 1.0)).grouped("/b", weight(300), (cpus, 3.0)), cpus)
        }
        "groups 100 100, 1 and 3 per CPU" => {
            (file.grouped("/a", weight(100), (cpus, 1.0)).grouped("/b", weight(100), (3 * cpus, 1.0)), cpus)
        }
        "groups 100 10000, 1 per CPU each" => {
            (file.grouped("/a", weight(100), (cpus, 1.0)).grouped("/b", weight(10_000), (cpus, 100.0)), cpus)
        }
        "nested groups" => {
            // Two thirds are /a's, of which /a/x has a quarter.
            let file = file.group("/a", 200).grouped("/b", weight(100), (cpus, 2.0));
            (file.grouped("/a/x", weight(100), (cpus, 1.0)).grouped("/a/y", weight(300), (cpus, 3.0)), cpus)
        }
        "idle group" => {
            let file = file.grouped("/a", weight(100), (cpus, 1.0));
            (file.grouped("/batch", json!({ "idle": true }), (cpus, IDLE)), cpus)
        }
        other => return Err(format!("no mix `{other}`").into()),
    };
    file.read(name, cpus)
}

/// A thread that wakes now and then for a short time beside `idle` threads of `SCHED_IDLE`.
pub fn idle_beside(idle: u32) -> Outcome<Workload> {
    let ui = json!({
        "run": 1000,
        "sleep": 8000,
        "tandem": { "application": "ui", "sleep_spread": "exponential", "run_spread": { "log_normal": 0.5 } },
    });
    let mut file = File::default();
    file.tasks.insert("ui".to_owned(), ui);
    if idle > 0 {
        file = file.idle(idle);
    }
    Ok(file.read(&format!("ui beside {idle}"), 1)?.workload)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workloads::threads;

    #[test]
    fn every_mix_is_a_workload_with_at_least_two_applications() {
        for name in MIXES {
            let workload = mix(name, 8).unwrap().workload;
            assert!(
                workload.applications.len() >= 2 && workload.warnings.is_empty(),
                "{name}: {:?}",
                workload.warnings
            );
            assert!(threads(&workload) > 8, "{name}");
        }
        assert_eq!(threads(&mix("groups 100 100, 1 and 3 per CPU", 8).unwrap().workload), 32);
        assert_eq!(threads(&idle_beside(5).unwrap()), 6);
    }

    #[test]
    fn weights_say_who_gets_what() {
        let shares = |name: &str| -> Vec<f64> {
            let Mix { workload, by_weight } = mix(name, 8).unwrap();
            assert_eq!(workload.applications.len(), by_weight.as_ref().unwrap().len());
            by_weight.unwrap().iter().map(|share| (share * 10.0).round() / 10.0).collect()
        };
        // Applications stand by name. Two thirds to /a, of which a quarter to x.
        assert_eq!(shares("nested groups"), [16.7, 50.0, 33.3]);
        assert_eq!(shares("groups 100 100, 1 and 3 per CPU"), [50.0, 50.0]);
        assert_eq!(shares("idle group"), [99.7, 0.3]);
        // Four threads have a CPU each, and the other four CPUs are for eight.
        assert_eq!(shares("nice 0 on half, SCHED_IDLE on all"), [50.0, 50.0]);
        // Of nice 0, 10 and 5: 1, 0.107 and 0.328.
        assert_eq!(shares("nice 0 5 10, 1 per CPU each"), [69.7, 7.5, 22.8]);
        assert!(mix("nice 0 that sleeps half, nice 10 hogs", 8).unwrap().by_weight.is_none());
    }
}
