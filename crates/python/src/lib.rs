// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tandem's simulator for Python: what `import tandem` gives.
//!
//! Python says what to run and gets tables; what is decided and computed is in the crates `tandem-simulator` and
//! `tandem-experiments`. The manual is `python/tandem/__init__.pyi`, with types and examples.
//!
//! # The modules
//!
//! - `machine`, `workload`, `carried`: what runs are made of; `given`: the options that all runs share
//! - `simulate`, `report`, `trace`: one run, and what is known of it
//! - `compare`: schedulers compared, with intervals
//! - `sweep`: large grids, in tasks; `parquet`: their files
//! - `table`: rows and columns, which other libraries take without copying (the Arrow PyCapsule interface)
//! - `errors`: exceptions. `interruptible`: Ctrl-C. `json`: values from and to Python

mod carried;
mod compare;
mod errors;
mod given;
mod interruptible;
mod json;
mod machine;
mod parquet;
mod report;
mod simulate;
mod sweep;
mod table;
mod trace;
mod workload;

use pyo3::prelude::*;

/// What `import tandem` gives; its manual is the package's `__init__.pyi`.
#[pymodule]
mod _tandem {
    use super::*;

    #[pymodule_export]
    use super::carried::begin;
    #[pymodule_export]
    use super::compare::{Comparison, compare};
    #[pymodule_export]
    use super::machine::{Machine, machine, machines};
    #[pymodule_export]
    use super::report::{Energy, Report};
    #[pymodule_export]
    use super::simulate::simulate;
    #[pymodule_export]
    use super::sweep::{Grid, Part, Progress, Stop};
    #[pymodule_export]
    use super::table::Table;
    #[pymodule_export]
    use super::trace::Trace;
    #[pymodule_export]
    use super::workload::{Workload, generate, workload, workloads};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
