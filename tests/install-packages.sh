#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Installs what qomfs needs on Debian 12 and its relatives: the one list of packages.
#
#   tests/install-packages.sh build     to build and to mount, and what quickstart.sh shows with
#   tests/install-packages.sh tests     that, and all that the tests use
#   tests/install-packages.sh bench     that, and what tests/bench/run.sh uses beside it
#
# Called by examples/quickstart.sh and tests/run.sh; for root, or a user with sudo. Asks for
# nothing and needs no rights where all is there already.
set -eu

SOURCE=$(cd "$(dirname "$0")/.." && pwd)
. "$SOURCE/tests/lib.sh"

# compiler and libraries, FUSE's mount helper, jq for the examples
BUILD_PACKAGES="gcc libc6-dev meson ninja-build pkg-config libglib2.0-dev libfuse3-dev libcjson-dev fuse3 jq"

# a second compiler with its sanitizers, layout and shell checks, the tools that mounts are read with, and
# a QEMU whose replies ours are compared with, what counts system calls and instructions
TEST_PACKAGES="clang libclang-rt-dev clang-format shellcheck python3 git mount util-linux procps
    attr busybox diffutils file findutils grep less rsync tar qemu-system-x86 strace valgrind python3-jsonschema"

# plots
BENCH_PACKAGES="gnuplot-nox"

missing_packages()
{
    for package in "$@"; do
        state=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) || state=
        [ "$state" = installed ] || printf '%s ' "$package"
    done
}

case ${1-} in
build) packages=$BUILD_PACKAGES ;;
tests) packages="$BUILD_PACKAGES $TEST_PACKAGES" ;;
bench) packages="$BUILD_PACKAGES $TEST_PACKAGES $BENCH_PACKAGES" ;;
*) die "usage: tests/install-packages.sh build|tests|bench" ;;
esac
# shellcheck disable=SC2086 # a list of words
set -- $packages

if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
    die "this system has no apt-get. Install what these Debian packages hold, then use --no-install:" "$*"
fi
missing=$(missing_packages "$@")
# Users unmount by fusermount3, which reads /etc/mtab; systems that have booted have it, bare chroots may not.
mtab=$([ -e /etc/mtab ] || echo /etc/mtab)
if [ -z "$missing$mtab" ]; then
    say "   all packages are there"
    exit 0
fi
say "   missing: $missing$mtab"
if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null ||
        die "you are neither root nor have sudo. As root:" \
            "${missing:+apt-get install $missing}" "${mtab:+ln -s ../proc/self/mounts /etc/mtab}"
    sudo -v || die "sudo refused"
fi
if [ -n "$mtab" ]; then
    as_root ln -s ../proc/self/mounts /etc/mtab
fi
[ -n "$missing" ] || exit 0

logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
# One list that cannot be read, of a third party say, need not matter: the next step tells.
step "reading Debian's package lists" "$logs/update" as_root apt-get update --error-on=any || :
# shellcheck disable=SC2086 # a list of words
step "installing packages" "$logs/install" as_root env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y --no-install-recommends -o Dpkg::Use-Pty=0 -o DPkg::Lock::Timeout=300 $missing ||
    die "these packages could not be installed: $missing"
