//! The `tandem` command.

fn main() {}
