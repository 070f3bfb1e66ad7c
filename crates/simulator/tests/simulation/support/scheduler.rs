// SPDX-License-Identifier: MIT OR Apache-2.0
//! Schedulers to load: the kernel's C examples.

use std::path::Path;
use std::sync::Arc;

use proptest::prelude::*;
use tandem_simulator::simulation::{SchedExt, Scheduler};

use crate::objects::object_path;

/// The scheduler of this name with these variables (`a=1,b=2`) and its loader file.
#[track_caller]
pub fn load(name: &str, settings: &str) -> Scheduler {
    let folder = tempfile::tempdir().expect("a folder");
    let object = folder.path().join(format!("{name}.bpf.o"));
    std::fs::copy(object_path(name), &object).expect("a copy");
    let sidecar = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../schedulers/{name}.toml"));
    if sidecar.exists() {
        std::fs::copy(sidecar, folder.path().join(format!("{name}.toml"))).expect("a copy");
    }
    let comma = if settings.is_empty() { "" } else { "," };
    let text = format!("{}{comma}{settings}", object.display());
    Scheduler::SchedExt(Arc::new(SchedExt::open(&text).unwrap_or_else(|error| panic!("{error}"))))
}

/// Any of the schedulers.
pub fn any_scheduler() -> impl Strategy<Value = Scheduler> {
    let known = [
        ("scx_simple", ""),
        ("scx_simple", "fifo_sched=true"),
        ("scx_qmap", ""),
        ("scx_qmap", "slice_ns=1000000,dsp_batch=4,highpri_boosting=true"),
        ("scx_central", ""),
        ("scx_flatcg", ""),
    ];
    let loaded: Vec<Scheduler> = known.iter().map(|(name, settings)| load(name, settings)).collect();
    prop::sample::select(loaded)
}
