# Words for tests whose guest has CPUs of two speeds: source it after testing.bash.
#
# Such a test runs on this machine (`where: host`). It defines `measure`, and calls `unequal_guest`, which boots a guest and runs
# the same script in it, where it returns. What is compared is compared within one boot, in turns, so that what else this
# machine does meets all alike.

# Speed of each CPU, in percent of one of this machine's.
speeds=60,30,30,30

# unequal_guest SECONDS ARGUMENTS...: SECONDS for the guest, ARGUMENTS of the script.
unequal_guest() {
    local program seconds=$1
    shift
    preparing=$RESULTS/speeds-now
    if [ "${1:-}" = --measure ]; then
        shift
        throttled measure "$@" >"$RESULTS/said"
        exit
    fi
    [ "${IN_GUEST:-}" != yes ] || { tell_kinds && return; }
    if ! "$guest/throttle" --check 2>"$RESULTS/throttle"; then
        undecided "CPUs can be made unequal" "$(cat "$RESULTS/throttle")"
        finish
    fi
    for program in "$guest"/programs/*.c; do
        "${CC:-gcc}" -std=gnu11 -O2 -Wall -Wextra -Werror -pthread -I "$guest/../include" -o "$RESULTS/$(basename "$program" .c)" "$program"
    done
    quick
    exec "$guest/run" --cpus 4 --speeds "$speeds" --speeds-from "$preparing" --timeout "$seconds" --results "$RESULTS" -- \
        env IN_GUEST=yes ROUNDS="${ROUNDS:-}" RESULTS="$RESULTS" TANDEM="$TANDEM" LOADER="$LOADER" OBJECT="$OBJECT" "$0"
}

# throttled COMMAND...: runs it with CPUs as slow as they are to be.
throttled() {
    rm -f "$preparing"
    sleep 0.5
    "$@"
    quick
}

# Lets the first CPU go as fast as can be until something is measured: the verifier needs many seconds of it.
quick() {
    echo 90,20,20,20 >"$preparing.new"
    mv "$preparing.new" "$preparing"
}

# The guest's kernel cannot see that CPUs are throttled: the guest's clocks, which change nothing, say what is true.
tell_kinds() {
    echo '0 2000000; 1-3 1000000' >/sys/module/guest_clocks/parameters/policies
}

# Measures the speeds; a guest where they are not two to one shows nothing.
check_kinds() {
    local measured ratio
    measured=$(throttled "$RESULTS/speeds" 2)
    ratio=$(awk '{ printf "%.2f", 3 * $1 / ($2 + $3 + $4) }' <<<"$measured")
    echo "           units of work in a second: $measured; the first CPU is $ratio times as fast as the others"
    within "$ratio" 1.5 2.5 || { undecided "one CPU is twice as fast as the others" "$ratio times" && finish; }
}

# under SCHEDULER ARGUMENTS...: calls `measure` with these arguments under the kernel's own scheduler (`fair`), Tandem's with some
# settings, between which are commas (`-`: none), or `tandem run` with an option, as --longest. What it prints goes to
# $RESULTS/said.
under() {
    local settings=() scheduler=$1 loader
    shift
    if [ "$scheduler" = fair ]; then
        throttled measure "$@" >"$RESULTS/said"
        return
    fi
    if [[ $scheduler = --* ]]; then
        loader=("$TANDEM" run "$scheduler")
    else
        [ "$scheduler" = - ] || IFS=, read -r -a settings <<<"$scheduler"
        loader=("$LOADER" --stats "$OBJECT" "${settings[@]}")
    fi
    taskset -c 0 "${loader[@]}" -- taskset -c 0-3 "$0" --measure "$@" >"$RESULTS/loader.$scheduler" 2>&1 ||
        { cat "$RESULTS/loader.$scheduler" && return 1; }
}

# times KEY SCHEDULER...: numbers that were measured in $RESULTS/log (ROUND SCHEDULER KEY NUMBER) under each scheduler, side by
# side: a line for each time.
times() {
    local key=$1 scheduler columns=()
    shift
    for scheduler; do
        awk -v key="$key" -v scheduler="$scheduler" '$2 == scheduler && $3 == key { print $4 }' "$RESULTS/log" \
            >"$RESULTS/$key.$scheduler"
        columns+=("$RESULTS/$key.$scheduler")
    done
    paste -d ' ' "${columns[@]}"
}

# judge CLAIM LEAST KEY FIRST SECOND: what was measured under two schedulers says of "the second has more": it holds, it does not
# (it has less than LEAST times as much), or this cannot be told.
judge() {
    local claim=$1 median low high n greater verdict numbers
    read -r median low high n greater verdict < <(times "$3" "$4" "$5" | awk -f "$guest/pairs.awk" -v least="$2")
    numbers="$median times as much, $low to $high; $n pairs, $greater for it"
    case $verdict in
    better) ok "$claim" "$numbers" ;;
    absent) failed "$claim" "$numbers" ;;
    *) undecided "$claim" "$numbers" ;;
    esac
}
