#!/bin/sh
# SPDX-License-Identifier: MIT
#
# limit.sh [--quick] [--json]: how close the mount comes to the limit, which is a bare FUSE program that serves the same
# bytes from memory; and what a million properties cost. Builds what it needs, optimised, in build-bench/; takes some two
# minutes, with --quick half a minute. Each row is measured in one run, the ways in turn; the ratios count, not the times.
#
# Columns: rounds, minimum, median, 99th percentile, and the minimum and the median against those of the bare program.
set -eu

SOURCE=$(cd "$(dirname "$0")/../.." && pwd)
# shellcheck source=tests/lib.sh
. "$SOURCE/tests/lib.sh"

BUILD=$SOURCE/build-bench
ROUNDS=3000
RUNS=40
MOUNTS=5
MOVES=12
LOOKUPS=2000
JSON=

while [ $# -gt 0 ]; do
    case $1 in
    --quick) ROUNDS=500 RUNS=10 MOUNTS=2 MOVES=4 LOOKUPS=500 ;;
    --json) JSON=--json ;;
    *) say "usage: tests/bench/limit.sh [--quick] [--json]" && exit 2 ;;
    esac
    shift
done

# For the person who waits; standard output is for the results.
note()
{
    say "$@" >&2
}

# ---- what is mounted, and its end ----

WORK=$(mktemp -d)
MEMORY=$(mktemp -d -p /dev/shm 2>/dev/null || mktemp -d)
MOUNTED=

unmount()
{
    fusermount3 -u "$1" 2>/dev/null || umount "$1"
}

clean_up()
{
    for point in $MOUNTED; do
        unmount "$point" 2>/dev/null || fusermount3 -uz "$point" 2>/dev/null || :
    done
    rm -rf "$WORK" "$MEMORY"
}
trap clean_up EXIT
trap 'exit 1' INT TERM HUP PIPE

# mounted NAME COMMAND...: runs a command that mounts on $WORK/NAME, given as its last argument.
mounted()
{
    point=$WORK/$1
    shift
    mkdir -p "$point"
    "$@" "$point"
    MOUNTED="$point $MOUNTED"
}

# ---- the tools ----

bench()
{
    tool=$1
    shift
    "$BUILD/tests/bench/$tool" ${JSON:+"$JSON"} "$@"
}

QOMFS=$BUILD/fs/qomfs
note "building in $BUILD"
if ! { configure "$BUILD" --buildtype=release && ninja -C "$BUILD" limit; } >"$WORK/log" 2>&1; then
    tail -n 40 "$WORK/log" >&2
    die "cannot build"
fi

# ---- .tree.json: unchanged, and right after a change ----

# A dump, one of its writable properties while it is served by changing-mount, and the same property's file.
measure_dump()
{
    name=$1 object=$2 property=$3
    dump=$SOURCE/tests/data/$name.tree.json
    mounted "$name" "$QOMFS" --qmp=none "$dump"
    mounted "$name-changing" "$BUILD/tests/bench/changing-mount" "$dump" "qom/$object" "$property"
    mkdir -p "$MEMORY/$name"
    cp "$WORK/$name/qom/.tree.json" "$MEMORY/$name/tree.json"
    mounted "$name-bare" "$BUILD/tests/bench/bare-fuse" "$MEMORY/$name"

    bench read-bench --rounds="$ROUNDS" --goal=1.15 --title="$name, .tree.json unchanged" \
        qomfs="$WORK/$name/qom/.tree.json" bare,cached="$WORK/$name-bare/cached/tree.json" \
        tmpfs="$MEMORY/$name/tree.json"
    bench read-bench --rounds="$ROUNDS" --goal=1.3 --title="$name, .tree.json right after a change" \
        --change="$WORK/$name-changing/qom/$object/$property" \
        qomfs="$WORK/$name-changing/qom/.tree.json" bare,buffered="$WORK/$name-bare/buffered/tree.json" \
        bare,direct="$WORK/$name-bare/direct/tree.json"
}

measure_model()
{
    mounted model "$QOMFS" --qmp=none model
    mkdir -p "$MEMORY/model"
    cp "$WORK/model/qom/.tree.json" "$MEMORY/model/tree.json"
    mounted model-bare "$BUILD/tests/bench/bare-fuse" "$MEMORY/model"
    # Its clock moves once a second.
    bench read-bench --rounds="$ROUNDS" --moves="$MOVES" --goal=1.3 --title="the model, .tree.json" \
        qomfs="$WORK/model/qom/.tree.json" bare,cached="$WORK/model-bare/cached/tree.json" \
        bare,buffered="$WORK/model-bare/buffered/tree.json"
    bench read-bench --rounds="$ROUNDS" --goal=1.3 --title="the model, .tree.json right after a change" \
        --change="$WORK/model/qom/objects/iothread0/poll-max-ns" \
        qomfs="$WORK/model/qom/.tree.json" bare,buffered="$WORK/model-bare/buffered/tree.json" \
        bare,direct="$WORK/model-bare/direct/tree.json"
}

# ---- ls -lR ----

# The bare program serves what it finds in another mount of the same dump. To begin with an empty kernel cache both are
# mounted anew.
measure_listing()
{
    name=qemu-11.1-q35-rich
    dump=$SOURCE/tests/data/$name.tree.json
    tree=$WORK/$name-changing/qom
    mounted listing-bare "$BUILD/tests/bench/bare-fuse" "$tree"
    # On a machine without FUSE's costs; what cannot be read is not there.
    cp -a "$tree" "$MEMORY/listing" 2>/dev/null || :
    files=$(find "$tree" ! -type d ! -name .tree.json | wc -l)
    what="ls -lR of $(find "$tree" -type d | wc -l) directories, $files files"

    export LC_ALL=C
    bench run-bench --rounds="$RUNS" --goal=1.2 --title="$what, known to the kernel" \
        qomfs="ls -lR $WORK/$name/qom" bare="ls -lR $WORK/listing-bare/cached" tmpfs="ls -lR $MEMORY/listing"
    bench run-bench --rounds=$((RUNS / 2)) --goal=1.2 --title="$what, right after mounting" \
        --prepare=qomfs="fusermount3 -u $WORK/$name && $QOMFS --qmp=none $dump $WORK/$name" \
        --prepare=bare="fusermount3 -u $WORK/listing-bare &&
                        $BUILD/tests/bench/bare-fuse $tree $WORK/listing-bare" \
        qomfs="ls -lR $WORK/$name/qom" bare="ls -lR $WORK/listing-bare/cached"
}

# ---- a million properties ----

measure_scale()
{
    small=10000 large=1000000
    for n in $small $large; do
        "$BUILD/tests/bench/gen-tree" "$n" >"$MEMORY/$n.json"
    done
    bench scale-bench --properties=$large --mounts="$MOUNTS" --lookups="$LOOKUPS" \
        "$QOMFS" "$MEMORY/$small.json" "$MEMORY/$large.json"
}

note "measuring in $WORK and $MEMORY"
[ "$JSON" ] || say "                         rounds   minimum    median    99th %    ratios: min, median"
measure_dump qemu-11.1-pc machine bus-lock-ratelimit
measure_dump qemu-11.1-q35-rich machine bus-lock-ratelimit
measure_model
measure_listing
measure_scale
