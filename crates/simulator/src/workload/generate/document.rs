// SPDX-License-Identifier: MIT OR Apache-2.0
//! A workload file being written: an rt-app file, laid out as a person would.

use std::fmt::Write;

use super::value::Bytes;

/// Columns of a line, a tab counting as four.
const WIDTH: usize = 110;
const TAB: usize = 4;

/// A workload file.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Document {
    /// Description of the workload, for `tandem.description`.
    pub(super) description: String,
    /// Remarks on the numbers, for the comments at the top.
    pub(super) notes: Vec<String>,
    /// `global.duration` in seconds.
    pub(super) duration: Option<u32>,
    /// The tasks, in order.
    pub(super) tasks: Object,
}

impl Document {
    /// A file with this description and nothing else.
    pub(super) fn new(description: impl Into<String>) -> Self {
        Self { description: description.into(), ..Self::default() }
    }

    /// Adds a remark on the numbers.
    pub(super) fn note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
    }

    /// Adds a task.
    pub(super) fn task(&mut self, name: impl Into<String>, task: Object) {
        self.tasks.0.push((name.into(), Item::Object(task)));
    }

    /// The file's text, beginning with `command`, which makes it again.
    pub(super) fn text(&self, command: &str) -> String {
        let mut text = String::new();
        for line in std::iter::once(command).chain(self.notes.iter().map(String::as_str)) {
            comment(&mut text, line);
        }
        let mut global = Object::new();
        if let Some(duration) = self.duration {
            global = global.with("duration", duration);
        }
        let file = Object::new()
            .with("tandem", Object::new().with("description", self.description.as_str()))
            .with("global", global.with("default_policy", "SCHED_OTHER"))
            .with("tasks", self.tasks.clone());
        file.lines(&mut text, 0);
        text.push('\n');
        text
    }
}

/// A number of times, in words.
pub(super) fn times(count: u32) -> String {
    if count == 1 { "once".to_owned() } else { format!("{count} times") }
}

/// Adds `words` as comment lines.
fn comment(text: &mut String, words: &str) {
    let mut line = "//".to_owned();
    for word in words.split(' ') {
        if line.len() + 1 + word.len() > WIDTH && line != "//" {
            *text += &line;
            *text += "\n";
            line = "//".to_owned();
        }
        line = line + " " + word;
    }
    *text += &line;
    *text += "\n";
}

/// A JSON object; keys keep their order.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Object(Vec<(String, Item)>);

/// A JSON value.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Item {
    Whole(u64),
    Number(f64),
    Text(String),
    Flag(bool),
    List(Vec<u32>),
    Object(Object),
}

macro_rules! items {
    ($($type:ty => |$value:ident| $item:expr;)+) => {
        $(impl From<$type> for Item {
            fn from($value: $type) -> Self {
                $item
            }
        })+
    };
}
items! {
    u32 => |value| Self::Whole(value.into());
    u64 => |value| Self::Whole(value);
    f64 => |value| Self::Number(value);
    &str => |value| Self::Text(value.to_owned());
    String => |value| Self::Text(value);
    bool => |value| Self::Flag(value);
    Object => |value| Self::Object(value);
    Vec<u32> => |value| Self::List(value);
}

impl Object {
    pub fn new() -> Self {
        Self::default()
    }

    /// The object with one more key.
    #[must_use]
    pub fn with(mut self, key: impl Into<String>, item: impl Into<Item>) -> Self {
        self.0.push((key.into(), item.into()));
        self
    }

    /// The object with one more key, if there is a value for it.
    #[must_use]
    pub fn with_some(self, key: &str, item: Option<impl Into<Item>>) -> Self {
        match item {
            Some(item) => self.with(key, item),
            None => self,
        }
    }

    /// Writes the object: on one line if it fits behind `column`, otherwise one line a key.
    fn lines(&self, text: &mut String, depth: usize) {
        text.push('{');
        let mut separator = "";
        for (key, item) in &self.0 {
            let _ = write!(text, "{separator}\n{}{} : ", "\t".repeat(depth + 1), quoted(key));
            let column = (depth + 1) * TAB + key.len() + 6;
            let short = item.line();
            match item {
                Item::Object(object) if depth == 0 || column + short.len() > WIDTH => object.lines(text, depth + 1),
                _ => *text += &short,
            }
            separator = ",";
        }
        let _ = write!(text, "\n{}}}", "\t".repeat(depth));
    }
}

impl Item {
    /// The object on one line.
    fn line(&self) -> String {
        match self {
            Self::Whole(number) => number.to_string(),
            Self::Number(number) => number.to_string(),
            Self::Text(text) => quoted(text),
            Self::Flag(flag) => flag.to_string(),
            Self::List(list) => format!("[{}]", list.iter().map(u32::to_string).collect::<Vec<_>>().join(", ")),
            Self::Object(object) if object.0.is_empty() => "{}".to_owned(),
            Self::Object(object) => {
                let members = object.0.iter().map(|(key, item)| format!("{} : {}", quoted(key), item.line()));
                format!("{{ {} }}", members.collect::<Vec<_>>().join(", "))
            }
        }
    }
}

/// A text in quotes. Tandem's texts have no control characters, and of the others JSON escapes only two.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// How a task uses memory, for its `tandem` object; all zero: the task only computes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Memory {
    /// Share of the time that waits for memory, 0 to 1.
    pub bound: f64,
    /// Traffic, MB/s of work.
    pub mb_per_s: f64,
    /// Bytes that the task uses again and again; 0: none.
    pub footprint: Bytes,
}

impl Object {
    /// The object with the keys of `memory` whose values are not the default.
    #[must_use]
    pub fn with_memory(self, memory: Memory) -> Self {
        let some = |value: f64| (value > 0.0).then_some(value);
        self.with_some("memory_bound", some(memory.bound))
            .with_some("bytes_per_work", some(memory.mb_per_s))
            .with_some("footprint", (memory.footprint.0 > 0).then_some(memory.footprint.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_laid_out_as_a_person_would() {
        let mut document = Document::new("Two \"threads\".");
        document.note("Work: 2 ms.");
        document.duration = Some(3);
        let tandem = Object::new().with_memory(Memory { bound: 0.5, mb_per_s: 0.0, footprint: Bytes(64) });
        document.task("a", Object::new().with("loop", 1u32).with("run", 2_000u64).with("tandem", tandem));
        let long = Object::new().with("cpus", vec![1, 2]).with("name", "x".repeat(110)).with("join", true);
        document.task("b", long);
        let expected = format!(
            "// tandem workload x\n// Work: 2 ms.\n{{\n\
             \t\"tandem\" : {{\n\t\t\"description\" : \"Two \\\"threads\\\".\"\n\t}},\n\
             \t\"global\" : {{\n\t\t\"duration\" : 3,\n\t\t\"default_policy\" : \"SCHED_OTHER\"\n\t}},\n\
             \t\"tasks\" : {{\n\
             \t\t\"a\" : {{ \"loop\" : 1, \"run\" : 2000, \"tandem\" : {{ \"memory_bound\" : 0.5, \"footprint\" : 64 }} }},\n\
             \t\t\"b\" : {{\n\t\t\t\"cpus\" : [1, 2],\n\t\t\t\"name\" : \"{}\",\n\t\t\t\"join\" : true\n\t\t}}\n\t}}\n}}\n",
            "x".repeat(110)
        );
        assert_eq!(document.text("tandem workload x"), expected);
    }

    #[test]
    fn comments_are_wrapped_between_words() {
        let mut text = String::new();
        comment(&mut text, &"word ".repeat(40));
        assert!(text.lines().count() == 2 && text.lines().all(|line| line.starts_with("// word") && line.len() <= 110));
    }
}
