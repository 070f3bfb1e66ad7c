// SPDX-License-Identifier: MIT OR Apache-2.0
//! The store with the simulator itself: the same bytes as without, whatever is in the folder.

use std::fs;
use std::sync::Arc;

use proptest::prelude::*;
use tandem_simulator::observer::NoObserver;
use tandem_simulator::simulation::{Hotplug, KernelParameters, Profile, SchedExt, Scheduler};
use tandem_simulator::units::{CpuId, MSEC};

use super::*;
use crate::fixture::{Counted, report};
use crate::simulator::Linux;

const LIMIT: u64 = 1 << 30;

fn store(folder: &Path, limit: u64) -> Store {
    Store::open(&folder.join("runs"), limit, Digest::of(b"this program")).unwrap()
}

fn workload(work_us: u64) -> Workload {
    let text = format!(
        r#"{{ "tasks": {{ "a": {{ "instance": 3, "loop": 4, "run": {work_us}, "sleep": 700 }}, "b": {{ "loop": 1, "run": 5000 }} }} }}"#
    );
    Workload::parse(Path::new("w.json"), &text).unwrap()
}

/// The JSON of a run, and how many simulations it took.
fn run(store: &Store, fresh: bool, machine: &Machine, workload: &Workload, options: &Options) -> (String, usize) {
    let counted = Counted::default();
    let report = Stored::new(&counted, Some(store), fresh).simulate(machine, workload, options, &mut NoObserver);
    (serde_json::to_string(&report.unwrap()).unwrap(), counted.0.into_inner())
}

/// The reports in the store.
fn files(store: &Store) -> Vec<PathBuf> {
    let entries = |folder: &Path| fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect::<Vec<_>>();
    let mut files: Vec<PathBuf> = entries(&store.folder).iter().flat_map(|folder| entries(folder)).collect();
    files.sort();
    files
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn a_run_has_the_same_bytes_without_a_store_with_an_empty_one_a_full_one_and_a_damaged_one(
        machine in prop::sample::select(vec!["hikey960", "smp-8", "core2-q6600"]),
        (work_us, seed, hz) in (100_u64..20_000, any::<u64>(), prop::sample::select(vec![100_u64, 250, 1000])),
        limit_ms in prop::option::of(5_u64..30),
        (at, bit) in (any::<prop::sample::Index>(), 0_u32..8),
        cut in any::<bool>(),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let store = store(folder.path(), LIMIT);
        let (machine, workload) = (Machine::load(machine).unwrap(), workload(work_us));
        let kernel = KernelParameters { hz, ..KernelParameters::default() };
        let options = Options { seed, kernel, time_limit: limit_ms.map(|ms| ms * MSEC), ..Options::default() };
        let again = |fresh| run(&store, fresh, &machine, &workload, &options);
        let without = Linux.simulate(&machine, &workload, &options, &mut NoObserver).unwrap();
        let without = serde_json::to_string(&without).unwrap();
        prop_assert_eq!(again(false), (without.clone(), 1));
        prop_assert_eq!(again(false), (without.clone(), 0));
        prop_assert_eq!(again(true), (without.clone(), 1));
        let path = files(&store).remove(0);
        let mut bytes = fs::read(&path).unwrap();
        let at = at.index(bytes.len());
        if cut { bytes.truncate(at) } else { bytes[at] ^= 1 << bit }
        fs::write(&path, bytes).unwrap();
        prop_assert_eq!(again(false), (without.clone(), 1));
        prop_assert_eq!(again(false), (without, 0));
        prop_assert_eq!(files(&store).len(), 1);
    }
}

#[test]
fn whatever_a_run_follows_from_is_in_its_key() {
    let scheduler = SchedExt {
        path: PathBuf::from("./x.bpf.o"),
        name: "x.bpf.o".to_owned(),
        object: Arc::default(),
        sidecar: None,
        settings: Vec::new(),
        profile: None,
        code: Arc::default(),
        linked: Arc::default(),
    };
    let of =
        |scheduler: SchedExt| Options { scheduler: Scheduler::SchedExt(Arc::new(scheduler)), ..Options::default() };
    let mut object = (*scheduler.object).clone();
    object.license = "GPL".to_owned();
    let (plain, hotplug) = (Options::default(), vec![Hotplug { at: 1, cpu: CpuId(1), online: false }]);
    let kernel = KernelParameters { hz: 1000, ..KernelParameters::default() };
    let settings = vec![("slice_us".to_owned(), "7".to_owned())];
    let options = [
        Options { seed: 7, ..plain.clone() },
        Options { governor: "powersave".parse().unwrap(), ..plain.clone() },
        Options { time_limit: Some(1), ..plain.clone() },
        Options { kernel, ..plain.clone() },
        Options { hotplug, ..plain.clone() },
        of(scheduler.clone()),
        of(SchedExt { settings, ..scheduler.clone() }),
        of(SchedExt { profile: Some(Profile::V7), ..scheduler.clone() }),
        of(SchedExt { object: Arc::new(object), ..scheduler.clone() }),
        plain.clone(),
    ];
    let machine = Machine::load("hikey960").unwrap();
    let mut slower = machine.clone();
    slower.core_types[0].ipc = slower.core_types[0].ipc.next_down();
    let program = |text: &str| Keys::new(Digest::of(text.as_bytes()));
    let keys = program("this");
    let mut all: Vec<Digest> = options.iter().map(|options| keys.of(&machine, &workload(1), options)).collect();
    all.push(keys.of(&slower, &workload(1), &plain));
    all.push(keys.of(&machine, &workload(2), &plain));
    all.push(program("that").of(&machine, &workload(1), &plain));
    let count = all.len();
    all.sort();
    all.dedup();
    assert_eq!((all.len(), count), (13, 13));
    assert_eq!(keys.of(&machine, &workload(1), &plain), program("this").of(&machine.clone(), &workload(1), &plain));
}

#[test]
fn what_cannot_be_read_again_as_it_is_is_not_kept() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path(), LIMIT);
    let key = Digest::of(b"run");
    store.write(&key, &Report { power_w: f64::INFINITY, ..report() }).unwrap();
    assert!(store.read(&key) == Found::Nothing && !store.place(&key).exists());
    store.write(&key, &report()).unwrap();
    assert_eq!(store.read(&key), Found::Report(Box::new(report())));
}

#[test]
fn an_entry_under_another_ones_name_is_told_and_made_again() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path(), LIMIT);
    let machine = Machine::load("hikey960").unwrap();
    let seeds = [Options::default(), Options { seed: 7, ..Options::default() }];
    let run = |options: &Options| run(&store, false, &machine, &workload(1000), options);
    let (first, second) = (run(&seeds[0]), run(&seeds[1]));
    assert_ne!(first.0, second.0);
    let places = seeds.each_ref().map(|options| store.place(&store.keys.of(&machine, &workload(1000), options)));
    fs::copy(&places[0], &places[1]).unwrap();
    let counted = Counted::default();
    let stored = Stored::new(&counted, Some(&store), false);
    let report = stored.simulate(&machine, &workload(1000), &seeds[1], &mut NoObserver).unwrap();
    assert_eq!(serde_json::to_string(&report).unwrap(), second.0);
    assert_eq!((stored.found(), stored.unsound()), (0, vec![places[1].clone()]));
    assert_eq!(run(&seeds[1]), (second.0, 0), "it is sound again");
}

#[test]
fn the_reports_that_were_used_longest_ago_make_room() {
    let folder = tempfile::tempdir().unwrap();
    let keys: Vec<Digest> = (0..5_u8).map(|run| Digest::of(&[run])).collect();
    let entry = entry::encode(&keys[0], &report()).unwrap().len() as u64;
    let store = store(folder.path(), 3 * entry);
    let age = |key: &Digest, seconds| {
        let then = SystemTime::now() - std::time::Duration::from_secs(seconds);
        File::open(store.place(key)).unwrap().set_modified(then).unwrap();
    };
    for (at, key) in keys[..4].iter().enumerate() {
        store.write(key, &report()).unwrap();
        age(key, 100 * (1 + at as u64));
    }
    // The third went when the fourth came. The fourth is the oldest then, but it is used again: the second goes.
    assert!(matches!(store.read(&keys[3]), Found::Report(_)));
    store.write(&keys[4], &report()).unwrap();
    let there: Vec<bool> = keys.iter().map(|key| store.place(key).exists()).collect();
    assert_eq!(there, [true, false, false, true, true]);
}

#[test]
fn what_a_killed_process_left_goes_and_what_another_writes_stays() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path(), LIMIT);
    let key = Digest::of(b"run");
    let beside = store.place(&key).parent().unwrap().to_owned();
    fs::create_dir_all(&beside).unwrap();
    let (left, written) = (beside.join(".tandem-left"), beside.join(".tandem-written"));
    fs::write(&left, "half").unwrap();
    fs::write(&written, "half").unwrap();
    let then = SystemTime::now() - std::time::Duration::from_secs(7200);
    File::open(&left).unwrap().set_modified(then).unwrap();
    store.write(&key, &report()).unwrap();
    assert_eq!((left.exists(), written.exists(), store.place(&key).exists()), (false, true, true));
}

#[test]
fn an_observer_that_watches_sees_the_run_itself() {
    struct Watching;
    impl Observer for Watching {}
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path(), LIMIT);
    let counted = Counted::default();
    let stored = Stored::new(&counted, Some(&store), false);
    let (machine, workload) = (Machine::load("hikey960").unwrap(), workload(100));
    for _ in 0..2 {
        stored.simulate(&machine, &workload, &Options::default(), &mut Watching).unwrap();
    }
    stored.simulate(&machine, &workload, &Options::default(), &mut NoObserver).unwrap();
    assert_eq!((counted.0.load(Ordering::Relaxed), stored.found()), (2, 1));
}

#[test]
fn a_digest_is_the_sha_256_that_sha256sum_prints() {
    let digest = Digest::of(b"abc").to_string();
    assert_eq!(digest, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}
