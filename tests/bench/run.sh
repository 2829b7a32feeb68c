#!/bin/sh
# SPDX-License-Identifier: MIT
#
# run.sh [--quick] [--only=PART:PART...] [--out=FOLDER] [--no-install]: the measurements, of qomfs, beside QEMU's and
# beside the limit; what README and docs/performance.md show. Builds optimised in build-bench/, starts what it compares
# with, and leaves in FOLDER (build-bench/results): table.txt, results.json and plots (SVG).
#
# QEMUs: Debian's, and those that QEMU=PATH:PATH... names; without it, those found as /opt/qemu-*/qemu-system-x86_64.
# One that lives in a system of its own (chroot) must see /tmp. All takes some 25 minutes, --quick less than 5; see
# run.py for the parts.
set -eu

SOURCE=$(cd "$(dirname "$0")/../.." && pwd)
# shellcheck source=tests/lib.sh
. "$SOURCE/tests/lib.sh"

BUILD=$SOURCE/build-bench

install=yes
for argument in "$@"; do
    case $argument in
    -h | --help) exec python3 -B "$SOURCE/tests/bench/run.py" --help ;;
    --no-install) install=no ;;
    esac
done
if [ "$install" = yes ]; then
    "$SOURCE/tests/install-packages.sh" bench >&2
fi
log=$(mktemp)
trap 'rm -f "$log"' EXIT
say "building in $BUILD" >&2
if ! { configure "$BUILD" --buildtype=release && ninja -C "$BUILD" bench; } >"$log" 2>&1; then
    tail -n 40 "$log" >&2
    die "cannot build"
fi
rm -f "$log"
exec python3 -B "$SOURCE/tests/bench/run.py" --build="$BUILD" "$@"
