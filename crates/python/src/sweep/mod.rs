// SPDX-License-Identifier: MIT OR Apache-2.0
//! Large grids: [`Grid`] is what to run, as data that other computers are sent; [`Progress`] is what is done of it, in a folder.
//! Which process does a part is for Python to say (`_sweep.py`).

mod grid;
mod known;
mod lock;
mod progress;
mod source;

pub use grid::{Grid, Stop};
pub use progress::{Part, Progress};
