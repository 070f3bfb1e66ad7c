// SPDX-License-Identifier: MIT OR Apache-2.0
//! Machines that cannot exist, although each value by itself could: the report names the place of the contradiction.

use super::mistakes::check;

#[test]
fn operating_points() {
    check(&[
        (
            "{ mhz = 2000, mv = 1000 }",
            "{ mhz = »900, mv = 1000 }",
            "`opps` do not ascend: 900 MHz follows 1000 MHz",
            "",
        ),
        (
            "{ mhz = 2000, mv = 1000 }",
            "{ mhz = »1000, mv = 1000 }",
            "`opps` do not ascend: 1000 MHz follows 1000 MHz",
            "",
        ),
        (
            "{ mhz = 800, watts = 0.3 }",
            "»{ mhz = 800 }",
            "the operating point has no power",
            "`dynamic_power_coefficient`",
        ),
        (
            "{ mhz = 1000, mv = 800 }",
            "»{ mhz = 1000, watts = 1 }",
            "the operating point has no voltage to compute its leakage from",
            "`leakage_watts`",
        ),
        (
            "watts = 0.2, leakage_watts = 0.05",
            "watts = »0.04, leakage_watts = 0.05",
            "`watts` is less than the leakage it includes: 0.04 < 0.05",
            "at least 0.05",
        ),
    ]);
}

#[test]
fn duty_cycles() {
    check(&[
        ("duty_cycle = [0.25]", "duty_cycle = [0.25, »0.125]", "duty-cycle steps do not ascend", "higher"),
        (
            "duty_cycle = [0.25]",
            "duty_cycle = [»1]",
            "a duty-cycle step is not below the highest clock",
            "less than 2000 MHz",
        ),
        (
            "duty_mhz = [400]",
            "duty_mhz = [»900]",
            "a duty-cycle step is not below the highest clock",
            "less than 800 MHz",
        ),
        (
            "duty_cycle = [0.25]",
            "duty_cycle = [»0.5]",
            "a duty-cycle step gives 1000 MHz, which cannot be another operating point",
            "",
        ),
        (
            "duty_cycle = [0.25]",
            "duty_cycle = [0.25]\nduty_mhz = [»400]",
            "`duty_mhz` and `duty_cycle` are two ways to say the same",
            "only one",
        ),
    ]);
}

#[test]
fn idle_states() {
    check(&[
        (
            "{ name = \"off\", scope = \"cluster\", entry_us = 100, exit_us = 200, residency_us = 1000, watts = 0.0, cluster_watts = 0.01 }",
            "»{ name = \"off\", scope = \"cluster\", entry_us = 100, exit_us = 200, residency_us = 1000, watts = 0.0 }",
            "an entry of `states` has no `cluster_watts`",
            "for scope \"cluster\"",
        ),
        ("residency_us = 1000", "residency_us = »1", "`off` has a shorter residency than `WFI` before it", "ascends"),
        (
            "watts = 0.05 }",
            "watts = 0.05, cluster_watts = »0 }",
            "`cluster_watts` in a state that stops only the core",
            "",
        ),
        (
            "{ name = \"WFI\",",
            "»{ name = \"WFI\", scope = \"cluster\", cluster_watts = 0,",
            "the shallowest idle state stops the cluster",
            "first",
        ),
        (
            "cluster_watts = 0.01 },",
            "cluster_watts = 0.01 },\n»{ name = \"C9\", entry_us = 1, exit_us = 1, residency_us = 2000, watts = 0 },",
            "`C9` stops a core, but `off` before it stops the cluster",
            "before",
        ),
        (
            "typical_exit_us = 130",
            "typical_exit_us = »531",
            "in and out usually take longer than `entry_us` and `exit_us`, the longest times, together",
            "at most",
        ),
        (
            "told_residency_us = 5000",
            "told_residency_us = »999",
            "the kernel is told of a shorter residency for `deep-off` than for `off` before it",
            "ascends",
        ),
        (
            "exit_us = 1, residency_us = 2,",
            "exit_us = 1, coordination = »\"os\", residency_us = 2,",
            "`coordination` in a state that stops only the core",
            "scope",
        ),
    ]);
}

#[test]
fn cpu_numbers() {
    check(&[
        (
            "cores = 4\n",
            "cores = 4\nsmt = »2\n",
            "core type `slow` has no `smt_speed`",
            "`smt_speed` and `smt_activity`",
        ),
        (
            "[[cluster]]\nname = \"slow\"\npackage = \"main\"\ncore_type = \"slow\"\ncores = 4\ncpus = \"2-3,6-7\"\n",
            "»[[cluster]]\nname = \"slow\"\npackage = \"main\"\ncore_type = \"slow\"\ncores = 8192\n",
            "cluster `slow` brings the machine to 8196 CPUs",
            "at most 8192",
        ),
        ("cpus = \"2-3,6-7\"", "cpus = \"2-3,»5-6\"", "CPU 5 is in cluster `fast` already", "one cluster"),
        ("cpus = \"2-3,6-7\"", "cpus = \"2-3,6,»9\"", "CPU 9 leaves a gap: the machine has 9 CPUs", "0 to 8"),
        (
            "cpus = [[0, 4], [1, 5]]",
            "cpus = [[0, 4], [1, »99]]",
            "CPU 99 leaves a gap: the machine has 9 CPUs",
            "0 to 8",
        ),
        ("cpus = \"2-3,6-7\"", "cpus = »\"2-3\"", "wrong number of CPUs in `cpus`: 2", "expected 4"),
        ("cpus = [[0, 4], [1, 5]]", "cpus = »[[0, 4]]", "wrong number of cores in `cpus`: 1", "expected 2"),
        ("cpus = [[0, 4], [1, 5]]", "cpus = [[0, 4], »[1]]", "wrong number of CPUs in a core: 1", "expected 2"),
        ("cpus = [[0, 4], [1, 5]]", "cpus = [[0, 4], [1, »4]]", "CPU 4 is in the list twice", "once"),
        ("cpus = \"2-3,6-7\"", "cpus = \"2-3, »7-6\"", "`7-6` is not a CPU or a range of CPUs", "\"0-3,8\""),
        ("cpus = \"2-3,6-7\"", "cpus = \"2-3,»\"", "`` is not a CPU or a range of CPUs", "\"0-3,8\""),
        ("cpus = \"2-3,6-7\"", "cpus = \"»0-9999\"", "`0-9999` is not a CPU or a range of CPUs", "below 8192"),
    ]);
}

#[test]
fn shared_clocks_caches_and_rails() {
    check(&[
        (
            "[[cluster]]\nname = \"fast\"",
            "»[package.spare]\nuncore_watts = 1\nuncore_idle_watts = 1\nsource = \"test\"\n\n[[cluster]]\nname = \"fast\"",
            "package `spare` has no cluster",
            "`package = \"spare\"`",
        ),
        (
            "[platform]",
            "[[cluster]]\nname = \"twin\"\npackage = \"io\"\ncore_type = \"fast\"\ncores = 1\nopp_table = \"helper\"\n\
          idle_table = \"all\"\nperformance_domain = »\"package\"\nmemory = \"dram\"\nstatic_watts = 0\nsource = \"test\"\n\n[platform]",
            "the performance domain mixes core types: `fast` here, `slow` in `helper`",
            "an `opp_table` of its own",
        ),
        (
            "node = 1\n",
            "node = 1\nvoltage_follows = »{ leader = \"fast\", floor = [{ mhz = 1000, mv = 700 }] }\n",
            "the cluster's operating points have no voltage that could follow another",
            "`mv` in each",
        ),
        (
            "cache = { level = 2, kib = 512, per = \"cores:2\", hit_cost = 0.1, link_gb_per_s = 8 }",
            "cache = »{ level = 3, kib = 512, per = \"package\", hit_cost = 0.1 }",
            "cluster `fast` describes the package's shared cache otherwise",
            "kib = 4096, hit_cost = 0.2",
        ),
        (
            "per = \"cores:2\", hit_cost = 0.1, link_gb_per_s = 8",
            "per = \"package\", hit_cost = 0.1, link_gb_per_s = »8",
            "a cache of the whole package has no link of its own",
            "`gb_per_s` of the memory",
        ),
        ("l2_per = \"core\"", "l2_per = »\"package\"", "`l2_per` cannot be `package`", "\"cluster\""),
        ("{ mhz = 2000, mv = 800 }]", "{ mhz = »1000, mv = 800 }]", "`floor` does not ascend", "higher clock"),
        (
            "{ mhz = 2000, mv = 800 }]",
            "{ mhz = 2000, mv = »600 }]",
            "`floor` lowers the voltage for a higher clock",
            "",
        ),
    ]);
}

#[test]
fn boost_limits() {
    check(&[
        (
            "{ active_cores = 6, mhz = 1000 }",
            "{ active_cores = »2, mhz = 1000 }",
            "`boost` does not ascend in `active_cores`",
            "more than 2",
        ),
        (
            "{ active_cores = 6, mhz = 1000 }",
            "{ active_cores = 6, mhz = »2001 }",
            "`boost` allows more active cores a higher clock",
            "",
        ),
        (
            "{ active_cores = 6, mhz = 1000 }",
            "{ active_cores = 6, mhz = »599 }",
            "`boost` leaves cluster `slow` no operating point",
            "at least 600",
        ),
        (
            "{ active_cores = 1, mhz = 2000 }",
            "{ active_cores = 1, mhz = »1999 }",
            "`boost` never lets cluster `fast` reach its highest operating point",
            "at least 2000",
        ),
    ]);
}

#[test]
fn configurations() {
    check(&[
        ("online = \"0-3,6-7\"", "online = \"0-3,»7-12\"", "the machine has no CPU 9", "CPUs 0 to 8"),
        ("online = \"0-3,6-7\"", "online = »\"\"", "`online` is empty", ""),
        (
            "{ cpus = \"0\", mhz = 500 }",
            "{ cpus = \"0\", mhz = »501 }",
            "CPU 0 has no operating point of 501 MHz",
            "the nearest is 500; valid: 500, 1000, 2000",
        ),
        (
            "{ cpus = \"0\", mhz = 500 }",
            "{ cpus = \"0,»2\", mhz = 500 }",
            "the limit cuts through the performance domain of CPU 2",
            "CPU 3 with it",
        ),
        (
            "{ cpus = \"0\", mhz = 500 }",
            "{ cpus = \"0\", mhz = 500, min_mhz = »500 }",
            "`mhz` sets both limits already",
            "",
        ),
        (
            "min_mhz = 500, max_mhz = 1000",
            "min_mhz = »2000, max_mhz = 1000",
            "`min_mhz` is above `max_mhz`",
            "at most 1000",
        ),
        ("{ cpus = \"1\",", "{ cpus = \"»0-1\",", "CPU 0 has a limit already", "one entry"),
        ("[configuration.quiet]\ntitle", "»[configuration.quiet]\n#", "configuration.quiet has no `title`", "a string"),
    ]);
}

#[test]
fn ranks() {
    check(&[
        (
            "itmt_priority = [90, 100]",
            "itmt_priority = »[90]",
            "`itmt_priority` has 1 ranks for 2 cores",
            "one number for all cores, or one for each",
        ),
        ("itmt_priority = [90, 100]", "itmt_priority = [90, »256]", "`itmt_priority` is out of range: 256", "1 to 255"),
        (
            "[[cluster]]\nname = \"helper\"\npackage = \"io\"\ncore_type = \"slow\"\ncores = 1\nnode = 1\n\
             opp_table = \"helper\"\nidle_table = \"all\"\nperformance_domain = \"package\"\nmemory = \"io-bus\"\n\
             static_watts = 0.01\nitmt_priority = 20\n",
            "»[[cluster]]\nname = \"helper\"\npackage = \"io\"\ncore_type = \"slow\"\ncores = 1\nnode = 1\n\
             opp_table = \"helper\"\nidle_table = \"all\"\nperformance_domain = \"package\"\nmemory = \"io-bus\"\n\
             static_watts = 0.01\n",
            "cluster `helper` has no `itmt_priority`, others have one",
            "in each cluster, or in none",
        ),
    ]);
}

#[test]
fn usual_governors() {
    check(&[
        (
            "governor = \"powersave\"",
            "governor = »\"schedutil\"",
            "amd-pstate-epp has no such governor in active mode",
            "expected \"powersave\" or \"performance\"",
        ),
        (
            "cpufreq_driver = \"amd-pstate-epp\"\ngovernor = \"powersave\"\nepp = \"balance_power\"",
            "governor = \"powersave\"\nepp = »\"balance_power\"",
            "`epp` without a driver in active mode",
            "`cpufreq_driver`",
        ),
    ]);
}
