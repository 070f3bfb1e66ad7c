// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reads C prototypes: `s32 scx_bpf_create_dsq(u64 dsq_id, s32 node)`.

/// A prototype.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prototype<'a> {
    /// Name of the function.
    pub name: &'a str,
    /// What it returns.
    pub ret: Spelling<'a>,
    /// Names and types of its parameters.
    pub params: Vec<(&'a str, Spelling<'a>)>,
}

/// A type as C spells it, without `const`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spelling<'a> {
    /// `void`, `struct NAME`, or the name of an integer type.
    pub base: &'a str,
    /// How many stars follow.
    pub pointers: usize,
}

/// Reads a prototype; `None` if it is none.
pub fn parse(text: &str) -> Option<Prototype<'_>> {
    let (head, rest) = text.split_once('(')?;
    let (name, ret) = declared(head)?;
    let list = rest.strip_suffix(')')?.trim();
    let params = match list {
        "" | "void" => Vec::new(),
        _ => list.split(',').map(declared).collect::<Option<_>>()?,
    };
    Some(Prototype { name, ret, params })
}

/// The name and the type of `const struct cpumask *mask`.
fn declared(text: &str) -> Option<(&str, Spelling<'_>)> {
    let text = text.trim();
    let start = text.rfind([' ', '*'])? + 1;
    let (spelling, name) = text.split_at(start);
    let base = spelling.trim_end_matches([' ', '*']);
    let pointers = spelling.matches('*').count();
    let base = base.strip_prefix("const ").unwrap_or(base);
    (!name.is_empty() && !base.is_empty()).then_some((name, Spelling { base, pointers }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prototype_is_read_as_c_reads_it() {
        let prototype = parse("const struct cpumask *f(struct task_struct *p__rcu, u32 **cpu)");
        let params = vec![
            ("p__rcu", Spelling { base: "struct task_struct", pointers: 1 }),
            ("cpu", Spelling { base: "u32", pointers: 2 }),
        ];
        let ret = Spelling { base: "struct cpumask", pointers: 1 };
        assert_eq!(prototype, Some(Prototype { name: "f", ret, params }));
        assert_eq!(parse("void f(void)").map(|prototype| prototype.params.len()), Some(0));
        assert_eq!(parse("void f(u32)"), None);
        assert_eq!(parse("f"), None);
    }
}
