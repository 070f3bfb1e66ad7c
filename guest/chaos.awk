# What a record of chaos says: how many rounds ended how, and how long Tandem's scheduler and scx_simple took to be gone after
# kill -9, in milliseconds. Lines: round, seed, what was done, outcome, Tandem's milliseconds, scx_simple's. A line without an
# outcome is of a round that its guest did not survive.
#
# Exit status: 1 if a round did not end well, or, of forty times or more, Tandem's slowest is more than a second behind scx_simple's:
# the slowest of a few says what else the host did.

function sort(values, count,    i, j, value) {
    for (i = 2; i <= count; i++) {
        value = values[i]
        for (j = i - 1; j >= 1 && values[j] > value; j--) values[j + 1] = values[j]
        values[j + 1] = value
    }
}

function at(values, count, share) {
    return values[int((count - 1) * share) + 1]
}

function say(name, values, count) {
    sort(values, count)
    printf "%-10s  min %d, median %d, p95 %d, max %d ms, of %d\n", name, values[1], at(values, count, 0.5),
        at(values, count, 0.95), values[count], count
}

{ outcomes[NF < 6 ? "its guest was lost" : $4]++ }
NF >= 6 && $3 ~ /; (session|both|restore) killed/ && $3 !~ /affinity/ { tandem[++ours] = $5 + 0 }
NF >= 6 { simple[++theirs] = $6 + 0 }

END {
    for (outcome in outcomes) {
        printf "%d rounds: %s\n", outcomes[outcome], outcome
        if (outcome != "ok") wrong = 1
    }
    if (ours) say("Tandem", tandem, ours)
    if (theirs) say("scx_simple", simple, theirs)
    if (ours >= 40 && theirs >= 40 && tandem[ours] > simple[theirs] + 1000) {
        print "Tandem's slowest is more than a second behind scx_simple's"
        wrong = 1
    }
    exit wrong
}
