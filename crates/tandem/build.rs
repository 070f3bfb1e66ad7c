// SPDX-License-Identifier: GPL-2.0-only
//! Compiles the schedulers that the command carries, `bpf/tandem.bpf.c`, `schedulers/single.bpf.c` and `schedulers/o1.bpf.c`, into
//! objects, lists the files of `papers/` that it carries too, and names the model that it is built from.
//!
//! The same source and the same clang give the same objects, wherever the source is: the compiler works in the project's
//! folder and writes no other path down. Cargo is told of files by paths relative to this package: two clones that share a target folder
//! would else look at each other's.
//!
//! - `CLANG`: the compiler (default: `clang-19`, else a `clang` that is 16 or newer).
//! - `LIBBPF_INCLUDE`: the folder with libbpf's headers in `bpf/` (default: `/usr/include`).

use std::path::{Path, PathBuf};
use std::process::{Command, exit};
use std::{env, fs};

const FOLDERS: [&str; 2] = ["bpf", "schedulers"];
const SOURCES: [&str; 3] = ["bpf/tandem.bpf.c", "schedulers/single.bpf.c", "schedulers/o1.bpf.c"];
/// The oldest clang that writes what they are made of: enumerations of 64 bits and tags of declarations.
const OLDEST_CLANG: u32 = 16;

fn main() {
    for variable in ["CLANG", "LIBBPF_INCLUDE"] {
        println!("cargo:rerun-if-env-changed={variable}");
    }
    if let Err(message) = build().and_then(|()| list_papers()).and_then(|()| name_model()) {
        eprintln!("{message}");
        exit(1);
    }
}

fn build() -> Result<(), String> {
    let root = Path::new(&of_cargo("CARGO_MANIFEST_DIR")?).join("../..");
    let root = root.canonicalize().map_err(|error| format!("{}: {error}", root.display()))?;
    for folder in FOLDERS {
        println!("cargo:rerun-if-changed=../../{folder}");
    }
    let include = env::var("LIBBPF_INCLUDE").unwrap_or_else(|_| "/usr/include".to_owned());
    let header = Path::new(&include).join("bpf/bpf_helpers.h");
    if !header.exists() {
        return Err(missing(&format!("libbpf's headers are not in {include}/bpf"), "libbpf-dev", "LIBBPF_INCLUDE"));
    }
    let (clang, objects) = (clang()?, PathBuf::from(of_cargo("OUT_DIR")?));
    for source in SOURCES {
        let stem = Path::new(source).file_stem().unwrap_or_default();
        compile(&clang, &root, &include, source, &objects.join(stem).with_extension("bpf.o"))?;
    }
    Ok(())
}

/// The crates whose sources are the model: what they say decides what a simulation gives.
const MODEL: [&str; 3] = ["bpf-vm", "loader", "simulator"];

/// Sets `TANDEM_MODEL`, which tells the models of two builds of one version apart: a fingerprint (FNV-1a, 64 bits) of their
/// sources.
fn name_model() -> Result<(), String> {
    let crates = Path::new(&of_cargo("CARGO_MANIFEST_DIR")?).join("..");
    let crates = crates.canonicalize().map_err(|error| format!("{}: {error}", crates.display()))?;
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for name in MODEL {
        let folder = crates.join(name).join("src");
        println!("cargo:rerun-if-changed=../{name}/src");
        let mut files = Vec::new();
        below(&folder, &["rs"], &mut files).map_err(|error| format!("{}: {error}", folder.display()))?;
        files.sort();
        for file in files {
            let bytes = fs::read(&file).map_err(|error| format!("{}: {error}", file.display()))?;
            hash = bytes.iter().fold(hash, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3));
        }
    }
    println!("cargo:rustc-env=TANDEM_MODEL={hash:016x}");
    Ok(())
}

/// Writes `PAPERS: &[(&str, &str)]`, the TOML and JSON files below `papers/` and their texts, so that a new file needs no
/// other edit.
fn list_papers() -> Result<(), String> {
    let folder = Path::new(&of_cargo("CARGO_MANIFEST_DIR")?).join("../../papers");
    let folder = folder.canonicalize().map_err(|error| format!("{}: {error}", folder.display()))?;
    // Cargo looks at all that is below it.
    println!("cargo:rerun-if-changed=../../papers");
    let mut files = Vec::new();
    below(&folder, &["toml", "json"], &mut files).map_err(|error| format!("{}: {error}", folder.display()))?;
    files.sort();
    let mut list = String::from("const PAPERS: &[(&str, &str)] = &[\n");
    for file in files {
        let name = file.strip_prefix(&folder).ok().and_then(Path::to_str).ok_or("a paper's file name is not UTF-8")?;
        list += &format!("    ({name:?}, include_str!({file:?})),\n");
    }
    list += "];\n";
    let path = PathBuf::from(of_cargo("OUT_DIR")?).join("papers.rs");
    fs::write(&path, list).map_err(|error| format!("{}: {error}", path.display()))
}

/// Adds the files of these kinds that are below a folder.
fn below(folder: &Path, kinds: &[&str], files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            below(&path, kinds, files)?;
        } else if path.extension().is_some_and(|kind| kinds.iter().any(|wanted| kind == *wanted)) {
            files.push(path);
        }
    }
    Ok(())
}

fn of_cargo(variable: &str) -> Result<String, String> {
    env::var(variable).map_err(|_| format!("cargo does not say {variable}"))
}

/// Compiles a file with the flags of all of the project's objects, `bpf/flags`, against the project's own headers.
fn compile(clang: &str, root: &Path, include: &str, source: &str, object: &Path) -> Result<(), String> {
    let mut command = Command::new(clang);
    command.current_dir(root);
    command.arg("@bpf/flags");
    command.arg(format!("-ffile-prefix-map={}/=", root.display()));
    command.arg(format!("-ffile-prefix-map={include}/="));
    command.args(["-idirafter", include, "-c", source, "-o"]).arg(object);
    let output = command.output().map_err(|error| format!("{clang}: {error}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        return Err(format!("{clang} does not compile {source}:\n{said}"));
    }
    for line in said.lines().filter(|line| line.contains("warning:")) {
        println!("cargo:warning={line}");
    }
    Ok(())
}

/// The compiler that was asked for, or one that will do.
fn clang() -> Result<String, String> {
    if let Ok(clang) = env::var("CLANG") {
        return version(&clang)
            .map(|_| clang.clone())
            .ok_or_else(|| format!("CLANG={clang} is no clang that runs: it is needed to compile the schedulers"));
    }
    let found = ["clang-19", "clang"].into_iter().find(|clang| version(clang).is_some_and(|it| it >= OLDEST_CLANG));
    let what = format!("there is neither clang-19 nor a clang that is {OLDEST_CLANG} or newer");
    found.map(str::to_owned).ok_or_else(|| missing(&what, "clang-19", "CLANG"))
}

/// The first number of its version.
fn version(clang: &str) -> Option<u32> {
    let output = Command::new(clang).arg("-dumpversion").output().ok().filter(|output| output.status.success())?;
    String::from_utf8(output.stdout).ok()?.split('.').next()?.trim().parse().ok()
}

fn missing(what: &str, package: &str, variable: &str) -> String {
    format!(
        "the schedulers in bpf/ and schedulers/ cannot be compiled: {what}. Install it (`scripts/requirements build`, or on Debian `apt-get install \
         {package}`), or say where it is: {variable}=..."
    )
}
