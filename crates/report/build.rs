// SPDX-License-Identifier: MIT OR Apache-2.0
//! Embeds the page that `make page` makes of `page/src`, if that has been done: without it the crate still builds, and says at
//! run time how the page is made.

use std::path::{Path, PathBuf};
use std::process::exit;
use std::{env, fs};

/// The parts of the page, as [`Bundle`](../src/bundle.rs) has them.
const PARTS: [(&str, &str); 4] =
    [("script", "page.js"), ("script_sha256", "page.js.sha256"), ("style", "page.css"), ("notices", "notices.txt")];

fn main() {
    if let Err(message) = embed() {
        eprintln!("{message}");
        exit(1);
    }
}

fn embed() -> Result<(), String> {
    let of_cargo = |variable: &str| env::var(variable).map_err(|_| format!("cargo does not say {variable}"));
    let folder = Path::new(&of_cargo("CARGO_MANIFEST_DIR")?).join("page/dist");
    // A folder that is not there makes cargo run this again each time, until there is one.
    println!("cargo:rerun-if-changed=page/dist");
    let there = PARTS.iter().all(|(_, file)| folder.join(file).is_file());
    let mut text =
        String::from("/// The page that was there when this was compiled.\npub const BUNDLE: Option<Bundle> = ");
    match there {
        false => text += "None;\n",
        true => {
            text += "Some(Bundle {\n";
            for (name, file) in PARTS {
                text += &format!("    {name}: include_str!({:?}),\n", folder.join(file));
            }
            text += "});\n";
        }
    }
    let path = PathBuf::from(of_cargo("OUT_DIR")?).join("bundle.rs");
    fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))
}
