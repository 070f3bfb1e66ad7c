// SPDX-License-Identifier: GPL-2.0-only
//! Which folder of `bpf/` may use which: a name that one folder defines is used by folders above it only.
//!
//! The scheduler is one translation unit, so that the compiler would not mind. Names are functions, variables, maps, enumerators and
//! macros; members of structures are not looked at. A `state.bpf.h` has a part of the state of tasks and CPUs, which all may see.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The folders from the bottom, each with those that it may use besides `state`.
const LAYERS: [(&str, &[&str]); 12] = [
    ("state", &[]),
    ("queues", &[]),
    ("clocks", &["queues"]),
    ("place", &["clocks", "queues"]),
    ("base", &["clocks", "place", "queues"]),
    ("isolate", &["base", "clocks", "place", "queues"]),
    ("longest", &["base", "clocks", "place", "queues"]),
    ("serial", &["base", "clocks", "place", "queues"]),
    ("sorted", &["base", "clocks", "place", "queues"]),
    // Isolation's clocks are set by the same governor.
    ("speed", &["base", "clocks", "isolate", "place", "queues"]),
    ("mechanisms", &["base", "clocks", "isolate", "longest", "place", "queues", "serial", "sorted", "speed"]),
    ("tandem", &["base", "clocks", "isolate", "mechanisms", "place", "queues"]),
];

/// The layer of a file, by its path in `bpf/`.
fn layer_of(path: &Path) -> String {
    let name = path.file_name().unwrap().to_str().unwrap();
    if name == "state.bpf.h" || name == "settings.bpf.h" {
        return "state".to_owned();
    }
    let first = path.components().next().unwrap().as_os_str().to_str().unwrap();
    first.split('.').next().unwrap().to_owned()
}

/// The text without comments and without what stands in quotation marks; lines stay where they are.
fn code(text: &str) -> String {
    let (mut code, mut rest) = (String::new(), text);
    while let Some(at) = rest.find(['"', '/']) {
        code.push_str(&rest[..at]);
        rest = &rest[at..];
        let end = if rest.starts_with("/*") {
            rest.find("*/").map(|end| end + 2)
        } else if let Some(quoted) = rest.strip_prefix('"') {
            quoted.find('"').map(|end| end + 2)
        } else {
            code.push('/');
            Some(1)
        };
        let end = end.unwrap_or(rest.len());
        code.extend(rest[..end].chars().filter(|letter| *letter == '\n'));
        rest = &rest[end..];
    }
    code + rest
}

fn is_of_a_word(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '_'
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|letter| !is_of_a_word(letter)).filter(|word| !word.is_empty())
}

/// What a line of code defines for the whole scheduler.
fn defined(line: &str) -> Option<&str> {
    if let Some(macro_) = line.strip_prefix("#define ") {
        return words(macro_).next();
    }
    if let Some(map) = line.strip_prefix("} ").filter(|rest| rest.contains("SEC(")) {
        return words(map).next();
    }
    if let Some(enumerator) = line.strip_prefix('\t') {
        let name = words(enumerator).next()?;
        let rest = enumerator.strip_prefix(name).unwrap_or_default();
        let is_one = name.len() > 2
            && name.starts_with(|first: char| first.is_ascii_uppercase())
            && name.chars().all(|letter| letter.is_ascii_uppercase() || letter.is_ascii_digit() || letter == '_');
        let is_defined = rest.starts_with(',') || rest.starts_with(" =");
        return (is_one && is_defined).then_some(name);
    }
    let first = words(line).next().filter(|first| line.starts_with(first))?;
    let end = line.find(['(', '[', ';', '=', ',']).or_else(|| line.find(" SEC"))?;
    // A declaration of what the kernel has.
    if first == "extern" || line.contains("__ksym") || first.starts_with("SEC") {
        return None;
    }
    words(&line[..end]).last()
}

/// All files of the scheduler, with their code.
fn sources() -> BTreeMap<PathBuf, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bpf");
    let (mut files, mut folders) = (BTreeMap::new(), vec![root.clone()]);
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() && !path.ends_with("include") {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "h" || extension == "c") {
                let text = fs::read_to_string(&path).unwrap();
                files.insert(path.strip_prefix(&root).unwrap().to_owned(), code(&text));
            }
        }
    }
    files
}

fn allowed(layer: &str) -> BTreeSet<&'static str> {
    let (_, used) = LAYERS.iter().find(|(name, _)| *name == layer).unwrap_or_else(|| panic!("LAYERS has no {layer}"));
    used.iter().copied().chain(["state"]).collect()
}

#[test]
fn folders_use_only_names_of_those_below_them() {
    let sources = sources();
    let mut layers_of = BTreeMap::<&str, BTreeSet<String>>::new();
    for (path, code) in &sources {
        for name in code.lines().filter_map(defined) {
            layers_of.entry(name).or_default().insert(layer_of(path));
        }
    }
    assert!(layers_of.len() > 900, "{} names", layers_of.len());
    let mut wrong = Vec::new();
    for (path, code) in &sources {
        let layer = layer_of(path);
        let allowed = allowed(&layer);
        for (number, line) in (1..).zip(code.lines()) {
            // A member of a structure may be called as something else is.
            for name in
                words(line).filter(|name| !line.contains(&format!(".{name}")) && !line.contains(&format!(">{name}")))
            {
                let Some(layers) = layers_of.get(name) else { continue };
                if !layers.iter().any(|of| *of == layer || allowed.contains(of.as_str())) {
                    wrong.push(format!("{}:{number}: {layer} must not use {name} of {layers:?}", path.display()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "see LAYERS for what each folder may use:\n{}", wrong.join("\n"));
}

#[test]
fn each_layer_stands_above_those_that_it_uses() {
    for (place, (layer, used)) in LAYERS.iter().enumerate() {
        for below in *used {
            assert!(
                LAYERS[..place].iter().any(|(name, _)| name == below),
                "{layer} uses {below}, which stands above it"
            );
        }
    }
}

#[test]
fn names_are_found_where_they_are_defined() {
    let text = "\
#define ONE 1 /* TWO */
static __always_inline u32 three(struct task_struct *four)
struct five fives[MAX_CPUS];
\tSIX = 6,
\tseven(six, SEVEN);
} eight SEC(\"nine\");
extern const struct rq ten __ksym;
u64 eleven, twelve;
";
    let code = code(text);
    let found: Vec<&str> = code.lines().filter_map(defined).collect();
    assert_eq!(found, ["ONE", "three", "fives", "SIX", "eight", "eleven"]);
}
