# For scripts that wait for what they run in the background: Ctrl-C, of which guests and what `timeout` runs hear nothing, for
# they are in process groups of their own. Source this, then `trap stop INT TERM`.

stop() {
    trap '' INT TERM
    # shellcheck disable=SC2046  # a list of numbers
    kill $(jobs -pr) 2>/dev/null || true
    wait
    exit 130
}
