# Words for the scripts in guest/tests, which source this first. A script ends with `finish`.
#
# A test finds one of three things about a claim: it holds (`ok`), it does not (`failed`), or this cannot be said here
# (`undecided`), which fails nothing but is counted aloud. Any other error ends the script, as a failure.

set -euo pipefail

guest=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
failures=0 doubts=0
# The guest's /tmp may be the host's, which is only to be read.
[ -w "${TMPDIR:-/tmp}" ] || export TMPDIR=/var/tmp

# What tests look for in a text must not be broken over two lines: a pipe would have 100 columns.
export COLUMNS=1000

# ok CLAIM [NUMBERS]
ok() {
    printf 'ok         %s%s\n' "$1" "${2:+  ($2)}"
}

# failed CLAIM [WHY]
failed() {
    printf 'FAILED     %s%s\n' "$1" "${2:+: $2}"
    failures=$((failures + 1))
}

# undecided CLAIM WHY
undecided() {
    printf 'undecided  %s: %s\n' "$1" "$2"
    doubts=$((doubts + 1))
}

# holds CLAIM NUMBERS COMMAND...: `ok` if the command succeeds, else `failed`.
holds() {
    local claim=$1 numbers=$2
    shift 2
    if "$@"; then ok "$claim" "$numbers"; else failed "$claim" "$numbers"; fi
}

# within NUMBER LEAST MOST: decimal numbers.
within() {
    awk -v number="$1" -v least="$2" -v most="$3" 'BEGIN { exit !(number >= least && number <= most) }'
}

# eventually SECONDS COMMAND...: whether the command succeeds; it is tried every tenth of a second. SECONDS are what a quiet host takes
# at most; five times as long is waited, since a guest that has nothing to do but to wait for its host has the host's time.
eventually() {
    local end
    end=$(($(date +%s%N) + $1 * 5000000000))
    shift
    until "$@"; do
        [ "$(date +%s%N)" -lt "$end" ] || return 1
        sleep 0.1
    done
}

# What sched_ext is doing, and whose scheduler runs.
scx_state() {
    cat /sys/kernel/sched_ext/state
}

scx_is() {
    [ "$(scx_state)" = "$1" ]
}

# Complaints of the kernel since `dmesg --clear`, without those behind a line that matches the first argument, if there is one. One
# complaint is left out in any case, as no scheduler causes it: Linux 6.12 forgets a balance callback of the deadline class, to which
# schedutil's threads belong, while it changes all tasks' classes.
kernel_complaints() {
    dmesg | awk -v besides="rq->balance_callback && ${1:+|$1}" '
        /BUG:|WARNING:|Oops|stall|blocked for more than/ && before !~ besides { print } { before = $0 }'
}

# The same without what Linux 6.12 says where a CPU goes offline under a sched_ext scheduler, whichever one: it says all of scx_simple.
#   - It may not vacate the CPU well while the scheduler leaves: sched_cpu_dying.
#   - Then sched_cpu_dying() stops the fair class's server, whether it has been started or not (kernel/sched/core.c), and where all
#     tasks are sched_ext's it has not. So the server's bandwidth is taken off twice: task_non_contending finds that it has left before,
#     or whatever takes off next finds that less is left, be it the server or a task of the deadline class. That is said in one place,
#     __sub_running_bw(), which the compiler puts into its callers: task_non_contending, inactive_task_timer, dequeue_task_dl and
#     others. So that place's words tell it, not the function: "dl_rq->running_bw > old". What is counted too low can never be said to
#     be too high, so the class's other sums are watched as ever.
hotplug_complaints() {
    kernel_complaints 'dl_rq->running_bw > old' | grep -vE ' (sched_cpu_dying|task_non_contending)[.+]' || true
}

finish() {
    [ "$doubts" = 0 ] || echo "           $doubts undecided"
    exit $((failures > 0))
}
