#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Installs what the tests need, builds, and runs all of them; the last line counts. See tests/README.md.
set -eu

SOURCE=$(cd "$(dirname "$0")/.." && pwd)
. "$SOURCE/tests/lib.sh"
cd "$SOURCE"

LOGS=$SOURCE/build-logs
OPTIMIZED="-Doptimization=2"
LIGHTLY_OPTIMIZED="-Doptimization=1"
export PYTHONDONTWRITEBYTECODE=1

usage()
{
    cat <<'END'
usage: tests/run.sh [quick] [--no-install] [--werror]

Installs what the tests need (Debian), builds and runs all tests. The last line is
"N passed, N failed, N skipped"; the status is 1 if any failed or none ran.

  quick          style, one build, unit tests and the mount cases that are not slow
  --no-install   use what is there
  --werror       a compiler warning fails the gcc build too, as it always does with clang
  -h, --help     this

Builds go to build/, build-clang/, build-asan/ and build-tsan/, their output to build-logs/.
END
}

quick='' install=yes werror=false
for argument in "$@"; do
    case $argument in
    quick) quick=--quick ;;
    --no-install) install=no ;;
    --werror) werror=true ;;
    -h | --help) usage && exit 0 ;;
    *) usage >&2 && exit 2 ;;
    esac
done

# collect NAME COMMAND...: runs a program that prints TAP, shows it and keeps it to be counted.
# What it says by its status it also says in TAP, and one that died early lacks its plan.
collect()
{
    name=$1 began=$(date +%s)
    shift
    "$@" | tee "$LOGS/$name.tap"
    say "   $name: done in $(($(date +%s) - began)) s"
}

compile()
{
    configure "$@" && meson compile -C "$1"
}

# build NAME FOLDER OPTIONS...: the build itself is a test.
build()
{
    name=$1 folder=$2
    shift 2
    title "Building with $name, in ${folder##*/}/"
    check_writable "$folder"
    if step "building" "$LOGS/build-$name.log" compile "$folder" "$@"; then
        printf 'ok 1 - builds\n1..1\n' >"$LOGS/build-$name.tap"
    else
        printf 'not ok 1 - builds\n1..1\n' >"$LOGS/build-$name.tap"
        return 1
    fi
}

# The ThreadSanitizer build is linked with what tells it of GLib's locks.
build_tsan()
{
    helper=$LOGS/glib-sync.o
    # shellcheck disable=SC2046 # words
    gcc -std=gnu17 -g -O1 -fsanitize=thread $(pkg-config --cflags glib-2.0) -c tests/tsan/glib-sync.c -o "$helper"
    if [ -f build-tsan/build.ninja ] && [ -n "$(find tests/tsan -newer build-tsan/build.ninja)" ]; then
        rm -rf build-tsan # Meson does not know of the helper
    fi
    build tsan build-tsan "$LIGHTLY_OPTIMIZED" -Db_sanitize=thread "-Dc_link_args=-fsanitize=thread '$helper' -lglib-2.0"
}

# Where this user cannot open /dev/fuse but may become root, root mounts; else the runner says what is missing.
mount_tests()
{
    if [ "$(id -u)" != 0 ] && [ -e /dev/fuse ] && [ ! -w /dev/fuse ] && command -v sudo >/dev/null &&
        { sudo -n true 2>/dev/null || { [ -t 0 ] && sudo -v; }; }; then
        say "# /dev/fuse is closed to $(id -un): root runs the mount cases" >&2
        sudo env PYTHONDONTWRITEBYTECODE=1 tests/mount/run "$@"
    else
        tests/mount/run "$@"
    fi
}

# test_build NAME FOLDER: unit tests and mount cases of a build.
test_build()
{
    title "Unit tests of the $1 build"
    collect "unit-$1" tests/unit/run --build="$2"
    title "Mount cases with the $1 build"
    collect "mount-$1" mount_tests --build="$2" ${quick:+"$quick"}
}

if [ "$install" = yes ]; then
    title "Packages"
    tests/install-packages.sh tests
    [ -n "$quick" ] || tests/guest-kernel.sh
fi
check_writable "$LOGS"
rm -rf "$LOGS"
mkdir "$LOGS"

if build gcc build "$OPTIMIZED" "-Dwerror=$werror"; then
    test_build gcc build
fi
title "Style"
collect style tests/style/run --build=build
if [ -z "$quick" ]; then
    export CC=clang
    build clang build-clang "$OPTIMIZED" -Dwerror=true || :
    unset CC
    if build asan build-asan "$LIGHTLY_OPTIMIZED" -Db_sanitize=address,undefined; then
        test_build asan build-asan
    fi
    if build_tsan; then
        test_build tsan build-tsan
    fi
fi

exec python3 tests/tap.py "$LOGS"/*.tap
