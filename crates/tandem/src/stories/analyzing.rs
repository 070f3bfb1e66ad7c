// SPDX-License-Identifier: GPL-2.0-only
//! `tandem analyze`.

use serde_json::Value;

use super::Story;

#[test]
fn a_person_reads_the_tables_of_the_papers_machine() {
    let text = Story::on_terminal(80).tandem("analyze --applications 8").unwrap();
    insta::assert_snapshot!(text, @r"
    n = 8 cores, one of them a = 2 times as fast as each other
    S: one thread is ready; P: as many as there are cores. Speedups of A in state
      (A,B), relative to A alone.
    The model assumes a < 2: from there on it can be right to leave a small core
      idle, which it never does.

    Table 1: baseline
    state     min  average     max  max/min
    (S,S)  0.5000   0.7500  1.0000   2.0000
    (S,P)  0.2500   0.5000  1.0000   4.0000
    (P,S)  0.7778   0.8889  0.9444   1.2143
    (P,P)  0.4444   0.5000  0.5556   1.2500

    Table 2: baseline, all cores alike (a = 1)
    state     min  average     max  max/min
    (S,S)  1.0000   1.0000  1.0000   1.0000
    (S,P)  0.5000   0.8889  1.0000   2.0000
    (P,S)  0.8750   0.8889  0.9375   1.0714
    (P,P)  0.5000   0.5000  0.5000   1.0000

    Table 5: serial phases first
    state     min  average     max  max/min
    (S,S)  0.5000   0.7500  1.0000   2.0000
    (S,P)  1.0000   1.0000  1.0000   1.0000
    (P,S)  0.7778   0.7778  0.7778   1.0000
    (P,P)  0.4444   0.5000  0.5556   1.2500

    Table 3: lower bounds of fairness
                   (S,S)  (S,P) case 1  (S,P) case 2   (P,P)
    baseline      0.5000        0.2647        0.7778  0.8000
    from Table 5  0.5000        0.7778        0.7778  0.8000

    Table 4: baseline, k = 8 applications
    phase        min     max  max/min
    serial    0.0625  1.0000  16.0000
    parallel  0.1111  0.6111   5.5000

    Table 6: serial phases first, k = 8 applications
    phase        min     max  max/min
    serial    0.5000  1.0000   2.0000
    parallel  0.1111  0.1111   1.0000
    The maximum of a parallel application holds beside serial ones; where all are
      parallel, it can get 0.2222.

    Serial first: a serial application beside a parallel one goes from 0.5000 to
      1.0000 of its speed on average, the parallel one from 0.8889 to 0.7778.
    What chance decides there (max/min) shrinks from 4.0000 and 1.2143 to 1; the
      lower bound of fairness goes from 0.2647 to 0.7778.
    In (S,S) and (P,P) it changes nothing: only one application has the large core.
    ");
}

#[test]
fn simulated_speedups_stand_beside_the_models() {
    // The mock gives an application alone 1 s of work per second, which is two threads on this machine's small cores.
    // Of two applications the first gets half of that and the second 0.4, so that fairness is 0.8.
    let text = Story::on_terminal(80).tandem("analyze -m proliant-dl580:asymmetric --simulate 1s --runs 3").unwrap();
    let simulated = text.split_once("Simulated").unwrap().1;
    insta::assert_snapshot!(simulated, @r"
     under fair+performance, 3 runs of 1.000 s (± 95 %)
    state      simulated  lowest  highest             baseline         serial first
    (S,S)  0.450 ± 0.000  0.4000   0.5000  0.750 (0.500–1.000)  0.750 (0.500–1.000)
    (S,P)  0.500 ± 0.000  0.5000   0.5000  0.500 (0.250–1.000)                1.000
    (P,S)  0.400 ± 0.000  0.4000   0.4000  0.889 (0.778–0.944)                0.778
    (P,P)  0.450 ± 0.000  0.4000   0.5000  0.500 (0.444–0.556)  0.500 (0.444–0.556)

    Fairness, simulated beside its lower bounds
    state      simulated  lowest  baseline  serial first
    (S,S)  0.800 ± 0.000  0.8000    0.5000        0.5000
    (S,P)  0.800 ± 0.000  0.8000    0.2647        0.7778
    (P,P)  0.800 ± 0.000  0.8000    0.8000        0.8000

    Alone, in threads on a small core: serial 2.0000 (model 2.0000), parallel 2.0000
      (model 9.0000).
    ");
    assert!(text.lines().all(|line| console::measure_text_width(line) <= 80), "{text}");
}

#[test]
fn equal_cores_have_one_table_for_the_baseline() {
    let text = Story::new().tandem("analyze -m smp-8").unwrap();
    assert!(text.starts_with("smp-8: n = 8 cores, all alike (a = 1)\n"), "{text}");
    assert!(!text.contains("Table 1") && text.contains("Table 2"), "{text}");
    assert!(!text.contains("assumes a < 2"), "{text}");
}

#[test]
fn each_situation_runs_once_with_each_seed() {
    let story = Story::new();
    story.tandem("analyze -m smp-8 --simulate 1s --runs 3").unwrap();
    // Two runs alone and three together.
    assert_eq!(story.mock.calls.into_inner(), 3 * 5);
}

#[test]
fn a_program_reads_the_analysis_as_json() {
    let text = Story::new()
        .tandem("analyze -m proliant-dl580:asymmetric --applications 4 --simulate 1s --runs 2 --json")
        .unwrap();
    let json: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((&json["schema"], &json["cores"], &json["asymmetry"]), (&1.into(), &8.into(), &2.0.into()));
    assert_eq!(json["large_cpu"], 0);
    assert_eq!(json["baseline"][1]["state"]["b"], "parallel");
    assert_eq!(json["baseline"][1]["min"], 0.25);
    assert_eq!(json["proposed"][1]["spread"], 1.0);
    assert_eq!(json["many"]["proposed"]["serial"]["min"], 0.5);
    assert_eq!(json["measured"]["states"][2]["average"]["mean"], 0.4);
    assert_eq!(json["measured"]["governor"], "performance");
    let json: Value = serde_json::from_str(&Story::new().tandem("analyze --json").unwrap()).unwrap();
    assert!(json["machine"].is_null() && json["many"].is_null() && json["measured"].is_null());
}
