#!/bin/sh
# SPDX-License-Identifier: MIT
#
# qmp.sh [--quick] [--json]: reading the object tree over QMP, from the companion socket of a mounted recorded tree of
# QEMU 11.1 and from a QEMU with its own default machine, of which that tree was recorded: $QEMU, else qemu-system-x86_64.
# The same client for both, in turn; needs 10.1 or later. Builds what it needs, optimised, in build-bench/.
#
# Columns: rounds, minimum, median, 99th percentile, and the minimum and the median against those of QEMU.
set -eu

SOURCE=$(cd "$(dirname "$0")/../.." && pwd)
# shellcheck source=tests/lib.sh
. "$SOURCE/tests/lib.sh"

BUILD=$SOURCE/build-bench
QEMU=${QEMU:-qemu-system-x86_64}
ROUNDS=200
JSON=

while [ $# -gt 0 ]; do
    case $1 in
    --quick) ROUNDS=20 ;;
    --json) JSON=--json ;;
    *) say "usage: tests/bench/qmp.sh [--quick] [--json]" && exit 2 ;;
    esac
    shift
done
command -v "$QEMU" >/dev/null || die "there is no $QEMU: QEMU= names one"

WORK=$(mktemp -d -p /tmp)
pids=

clean_up()
{
    for pid in $pids; do
        kill "$pid" 2>/dev/null || :
        wait "$pid" 2>/dev/null || :
    done
    rm -rf "$WORK"
}
trap clean_up EXIT
trap 'exit 1' INT TERM HUP

# started NAME COMMAND...: in the background, until its socket $WORK/NAME is there.
started()
{
    name=$1
    shift
    "$@" >"$WORK/log" 2>&1 &
    started_pid=$!
    pids="$started_pid $pids"
    tries=0
    until [ -S "$WORK/$name" ]; do
        tries=$((tries + 1))
        if [ $tries -gt 600 ] || ! kill -0 "$started_pid" 2>/dev/null; then
            cat "$WORK/log" >&2
            die "$1 did not start"
        fi
        sleep 0.1
    done
}

say "building in $BUILD" >&2
if ! { configure "$BUILD" --buildtype=release && ninja -C "$BUILD" qmp-bench-all; } >"$WORK/log" 2>&1; then
    tail -n 40 "$WORK/log" >&2
    die "cannot build"
fi
mkdir "$WORK/mount"
started qomfs "$BUILD/fs/qomfs" -f --qmp="$WORK/qomfs" "$SOURCE/tests/data/qemu-11.1-pc.tree.json" "$WORK/mount"
qomfs_pid=$started_pid
started qemu "$QEMU" -display none -S -qmp "unix:$WORK/qemu,server=on,wait=off"
[ "$JSON" ] || say "                         rounds   minimum    median    99th %     ratios: min, median"
"$BUILD/tests/bench/qmp-bench" ${JSON:+"$JSON"} --rounds="$ROUNDS" "$WORK/qomfs" "$qomfs_pid" "$WORK/qemu" "$started_pid"
