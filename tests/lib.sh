# SPDX-License-Identifier: MIT
# shellcheck shell=sh
#
# What examples/quickstart.sh, tests/run.sh and tests/install-packages.sh share: words to the person who waits, and the
# set-up of a build folder. To be sourced by a POSIX shell, with SOURCE set to the top folder of the project.

PROGRAM=${0##*/}
REPORT_EVERY=4 # seconds between signs of life of a step that takes its time

say()
{
    printf '%s\n' "$*"
}

# A title, bold on a terminal.
title()
{
    if [ -t 1 ]; then
        printf '\n\033[1m%s\033[0m\n' "$*"
    else
        printf '\n== %s\n' "$*"
    fi
}

# Each argument is a line; the first says what is wrong.
die()
{
    printf '%s: ' "$PROGRAM" >&2
    printf '%s\n' "$@" >&2
    exit 1
}

as_root()
{
    if [ "$(id -u)" = 0 ]; then
        "$@"
    else
        sudo "$@"
    fi
}

# step LABEL LOG COMMAND...: runs a command whose output goes to a file, and meanwhile shows that it goes on.
# Where it fails, shows the end of the output and returns its status.
step()
{
    label=$1 log=$2
    shift 2
    began=$(date +%s)
    say "   $label ..."
    : >"$log"
    show_signs_of_life "$label" "$log" &
    signs=$!
    status=0
    "$@" >"$log" 2>&1 </dev/null || status=$?
    kill "$signs" 2>/dev/null || :
    wait "$signs" 2>/dev/null || :
    [ ! -t 1 ] || printf '\r\033[K'
    if [ "$status" = 0 ]; then
        say "   $label: done in $(($(date +%s) - began)) s"
        return 0
    fi
    say "   $label: FAILED with status $status; the end of its output:"
    tail -n 40 "$log" | sed 's/^/      /'
    return "$status"
}

show_signs_of_life()
{
    seconds=0
    while sleep "$REPORT_EVERY"; do
        seconds=$((seconds + REPORT_EVERY))
        last=$(tail -c 400 "$2" | tr '\r' '\n' | tail -n 1 | tr -cd '[:print:]' | cut -c 1-70)
        if [ -t 1 ]; then
            printf '\r\033[K   %s s: %s' "$seconds" "$last"
        else
            say "   $1, $seconds s: $last"
        fi
    done
}

# Whether a folder is this project's build folder. One that was copied here together with its project is not: it would
# still build the old place.
is_configured()
{
    [ -f "$1/build.ninja" ] && grep -qsF "\"source\": \"$SOURCE\"" "$1/meson-info/meson-info.json"
}

# configure FOLDER OPTIONS...: sets a Meson build folder up, or brings it up to date with these options.
configure()
{
    folder=$1
    shift
    if is_configured "$folder"; then
        meson setup --reconfigure "$folder" "$SOURCE" "$@"
    else
        [ ! -d "$folder/meson-private" ] || rm -rf "$folder"
        meson setup "$folder" "$SOURCE" "$@"
    fi
}

# The path of qomfs in a build folder.
built_qomfs()
{
    jq -r '.[] | select(.name == "qomfs" and .type == "executable") | .filename[0]' "$1/meson-info/intro-targets.json"
}

# Whether this user can use a build folder; another user, root say, may have made it.
check_writable()
{
    if [ -e "$1" ] && [ ! -w "$1" ]; then
        die "'$1' belongs to another user: remove it, or run this as that user"
    fi
}
