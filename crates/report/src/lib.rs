// SPDX-License-Identifier: MIT OR Apache-2.0
//! Simulated runs, comparisons, experiments and waits as one self-contained HTML file.
//!
//! # Start here
//!
//! A [`Page`] is given what the command's `--json` printed, schedules that a [`Recorder`](timeline::Recorder) watched or that a trace
//! has, and machines to draw. [`Page::html`] is the file's text: it needs no network, and no other file.
//!
//! ```
//! use tandem_report::{Page, timeline::Recorder};
//! use tandem_simulator::{Machine, Options, Workload, simulate};
//!
//! let machine = Machine::load("hikey960")?;
//! let workload = Workload::load("pipeline".as_ref())?;
//! let mut recorder = Recorder::new(&machine, &workload);
//! let report = simulate(&machine, &workload, &Options::default(), &mut recorder)?;
//!
//! let mut page = Page::default();
//! page.add_run("run.json", &serde_json::to_string(&report)?)?;
//! page.add_timeline("run.json", recorder.finish(report.time_s));
//! page.add_machine(&machine);
//! match page.html() {
//!     Ok(html) => assert!(html.starts_with("<!doctype html>")),
//!     Err(no_page) => assert!(no_page.to_string().contains("make page")),
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # The rooms
//!
//! - `input`: what `--json` prints, as far as the page shows it, and mistakes in it with their place
//! - [`timeline`]: who ran where, clocks, idle states and power, as columns; watched, or read from a trace
//! - `machine`: what is drawn of a machine
//! - `document`: all of this as the page's script reads it
//! - `html`: the file around it
//! - `bundle`: the page's script and style, which `make page` makes of `page/`
//!
//! The page itself is in `page/`: plain modules of JavaScript, and one style sheet.

mod bundle;
mod document;
mod error;
mod html;
mod input;
mod machine;
pub mod timeline;

pub use bundle::NoPage;
pub use document::{Facts, Page};
pub use error::{Place, ReportError};
pub use input::Kind;
