// SPDX-License-Identifier: MIT OR Apache-2.0
//! Lists the files of `machines/` for the catalogue to embed, so that a new file needs no other edit.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() -> Result<(), Box<dyn Error>> {
    let folder = Path::new(&env::var("CARGO_MANIFEST_DIR")?).join("machines");
    // Cargo looks at a folder's files, so additions, removals and edits all run this again.
    println!("cargo::rerun-if-changed=machines");

    let mut list = String::from("const BUNDLED: &[(&str, &str)] = &[\n");
    for path in descriptions(&folder)? {
        let name = path.file_stem().and_then(|stem| stem.to_str()).ok_or("a machine's file name is not UTF-8")?;
        list += &format!("    ({name:?}, include_str!({path:?})),\n");
    }
    list += "];\n";
    fs::write(Path::new(&env::var("OUT_DIR")?).join("bundled_machines.rs"), list)?;
    Ok(())
}

/// The `.toml` files of `folder`, ascending by name.
fn descriptions(folder: &Path) -> Result<Vec<PathBuf>, Box<dyn Error>> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "toml") {
            paths.push(path);
        }
    }
    paths.sort_by_key(|path| path.file_stem().map(ToOwned::to_owned));
    Ok(paths)
}
