# What the header of a test in guest/tests says, for those who source this. `here` is the folder of this file.

# script NAME: of a test, or of a part of one, as in mechanisms.2.
script() {
    echo "$here/tests/${1%.[0-9]}"
}

# field NAME WORD DEFAULT: of a test, what stands behind this word.
field() {
    local value
    value=$(sed -n "/^#/!q; s/^# $2: *//p" "$(script "$1")" | head -n 1)
    echo "${value:-$3}"
}

# marked NAME WORD: whether a test's header has this line.
marked() {
    grep -q "^# $2\$" "$(script "$1")"
}

# given NAME: the settings in a test's header that the environment has, as NAME=VALUE.
given() {
    local setting
    for setting in $(sed -n '/^#/!q; s/^#   \([A-Z_]*\)  .*/\1/p' "$(script "$1")"); do
        [ -z "${!setting+set}" ] || echo "$setting=${!setting}"
    done
    [[ $1 != *.[0-9] ]] || echo "PART=${1##*.}"
}

# patience NAME: how many seconds a test has.
patience() {
    echo "${TIMEOUT:-$(field "$1" seconds 600)}"
}
