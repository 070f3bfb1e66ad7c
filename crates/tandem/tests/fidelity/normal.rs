// SPDX-License-Identifier: GPL-2.0-only
//! Callbacks in a form that can be compared: without what depends on times, or on names.

/// One callback: neither the task's name, nor how much of a slice it brings. The last two come when nobody refers to the task
/// any more, on whatever CPU that happens.
fn one(line: &str) -> String {
    let words: Vec<&str> = line.split(' ').collect();
    match words[..] {
        [_, callback @ ("disable" | "exit_task"), ..] => callback.to_owned(),
        [cpu, "enable", ..] => format!("{cpu} enable"),
        [cpu, callback @ ("dispatch" | "cpu_release"), at, ..] => format!("{cpu} {callback} {at}"),
        [cpu, callback, _name, ref rest @ ..] => [&[cpu, callback], rest].concat().join(" "),
        _ => line.to_owned(),
    }
}

/// All of them.
pub fn form(lines: &[String]) -> Vec<String> {
    lines.iter().map(|line| one(line)).collect()
}

#[test]
fn names_and_slices_do_not_count_but_cpus_and_flags_do() {
    let lines =
        ["0 enable a 20000000", "1 enqueue a 0x9", "0 dispatch 0 a", "1 exit_task a 0", "0 select_cpu a 0 0x8 -> 1"];
    let expected = ["0 enable", "1 enqueue 0x9", "0 dispatch 0", "exit_task", "0 select_cpu 0 0x8 -> 1"];
    assert_eq!(form(&lines.map(str::to_owned)), expected);
}
