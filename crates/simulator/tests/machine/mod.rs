// SPDX-License-Identifier: MIT OR Apache-2.0
//! Machine descriptions: the machines that they give, their mistakes, and their documentation.

mod catalogue;
mod docs;
mod edits;
mod impossible;
mod invariants;
mod mistakes;
mod odroid_xu3;
mod sources;
mod values;

/// The documentation of the format.
const DOC: &str = include_str!("../../../../docs/machines.md");

/// The complete example of the documentation, a machine that uses every key.
fn example() -> &'static str {
    let (_, from) = DOC.split_once("```toml\n").expect("the documentation has an example");
    from.split_once("```").expect("the example ends").0
}
