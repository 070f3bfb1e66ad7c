// SPDX-License-Identifier: MIT OR Apache-2.0
//! Generators: the workloads that published scheduling mechanisms were made for, and the shapes of well-known measures of
//! latency, as rt-app files of any size.
//!
//! A generator is a struct of options ([`Options`]) that writes a file ([`Generator`]). Where the papers leave a value
//! open, the option's text says that it is assumed; nothing is fitted to a published result. The same options give the
//! same bytes. If a file needs random numbers of its own, `seed` draws them; variation from run to run is left to the
//! simulation (`run_spread`).
//!
//! - one file per family: [`phases`], [`global_sum`], [`matmul`], [`iterations`], [`parallel_for`], [`scientific`],
//!   [`crossed`], [`mixes`], [`programs`], [`compile`]; `lengths` has what `matmul` and `iterations` share. For questions of
//!   how late: [`schbench`], [`cyclictest`], [`rpc`], [`desktop`], [`frames`]
//! - [`options`] and [`value`]: how options are declared, read and limited; `document`: how the file is written

pub mod compile;
pub mod crossed;
pub mod cyclictest;
pub mod desktop;
mod document;
pub mod frames;
pub mod global_sum;
pub mod iterations;
mod lengths;
pub mod matmul;
pub mod mixes;
pub mod options;
pub mod parallel_for;
pub mod phases;
pub mod programs;
pub mod rpc;
pub mod schbench;
pub mod scientific;
pub mod value;

pub use document::Document;
pub use options::{OptionError, OptionInfo, Options};

/// Options that make a workload.
pub trait Generator: Options {
    /// The workload.
    ///
    /// # Errors
    /// Options that do not go together. Each option is within its range: [`text`] checks that first.
    fn document(&self) -> Result<Document, OptionError>;
}

/// All generators, with the default of every option, in the order of the guide.
pub fn generators() -> Vec<Box<dyn Generator>> {
    vec![
        Box::<phases::Phases>::default(),
        Box::<global_sum::GlobalSum>::default(),
        Box::<matmul::Matmul>::default(),
        Box::<iterations::Iterations>::default(),
        Box::<parallel_for::ParallelFor>::default(),
        Box::<scientific::Scientific>::default(),
        Box::<crossed::Crossed>::default(),
        Box::<mixes::Mixes>::default(),
        Box::<programs::Programs>::default(),
        Box::<compile::Compile>::default(),
        Box::<schbench::Schbench>::default(),
        Box::<cyclictest::Cyclictest>::default(),
        Box::<rpc::Rpc>::default(),
        Box::<desktop::Desktop>::default(),
        Box::<frames::Frames>::default(),
    ]
}

/// The rt-app file of `generator`; its first comment is the command that makes it again.
///
/// # Errors
/// An option outside of its range, or options that do not go together.
pub fn text(generator: &dyn Generator) -> Result<String, OptionError> {
    generator.check()?;
    Ok(generator.document()?.text(&command(generator)))
}

/// `tandem workload …` with the value of every option.
fn command(generator: &dyn Generator) -> String {
    let mut command = format!("tandem workload {}", generator.command());
    for option in generator.options() {
        match (option.flag, option.value.as_str()) {
            (true, "true") => command += &format!(" --{}", option.name),
            (true, _) => {}
            (false, value) => command += &format!(" --{} {value}", option.name),
        }
    }
    command
}
