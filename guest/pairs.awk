# How much better a second time is than the first one, of pairs that were measured side by side: `FIRST SECOND` on each line.
#
#   awk -f guest/pairs.awk [-v least=1.05] FILE
#
# Prints the median of SECOND / FIRST, an interval that has the true median in at least 95 % of all cases (by order statistics:
# nothing is assumed of how the ratios are distributed, but that each is above the true median as often as below), how many
# pairs there are, in how many of them the second number is the greater one, and a verdict on "the second number is greater":
#
#   better     it is: the interval is above 1
#   absent     it is not, or hardly: the interval is below `least`
#   unknown    neither can be said
#
# Fewer than six pairs say nothing: the interval would go on for ever.

# The number of subsets of k of n.
function choose(n, k,    i, product) {
    product = 1
    for (i = 1; i <= k; i++)
        product = product * (n - k + i) / i
    return product
}

# How many of the outermost ratios on each side may be left out: 0 if not even one may be the end of the interval.
function depth_of(n,    k, tail) {
    tail = 0
    for (k = 0; k < n; k++) {
        tail += choose(n, k) / 2 ^ n
        if (2 * tail > 0.05)
            return k
    }
}

function sort(    i, j, ratio) {
    for (i = 2; i <= n; i++) {
        ratio = ratios[i]
        for (j = i - 1; j >= 1 && ratios[j] > ratio; j--)
            ratios[j + 1] = ratios[j]
        ratios[j + 1] = ratio
    }
}

NF == 2 && $1 > 0 {
    ratios[++n] = $2 / $1
    greater += $2 > $1
}

END {
    if (!least)
        least = 1
    depth = depth_of(n)
    if (!depth) {
        print "0 0 0", n + 0, greater + 0, "unknown"
        exit
    }
    sort()
    low = ratios[depth]
    high = ratios[n + 1 - depth]
    verdict = low > 1 ? "better" : high < least ? "absent" : "unknown"
    printf "%.3f %.3f %.3f %d %d %s\n", (ratios[int((n + 1) / 2)] + ratios[int(n / 2) + 1]) / 2, low, high, n, greater, verdict
}
