#!/bin/sh
# SPDX-License-Identifier: MIT
#
# guest-kernel.sh: unpacks Debian's kernel for virtual machines in build-kernel/, for the case that boots a guest. Nothing is
# installed; the newest one that the package lists name is fetched, once (27 MB). Called by tests/run.sh. Where
# it cannot be had (no Debian, no network) the case skips, so that this fails nobody.
set -eu

SOURCE=$(cd "$(dirname "$0")/.." && pwd)
. "$SOURCE/tests/lib.sh"

FOLDER=$SOURCE/build-kernel
METAPACKAGE=linux-image-cloud-amd64

# The package that the metapackage stands for today.
current_package()
{
    apt-cache depends --important "$METAPACKAGE" 2>/dev/null | sed -n 's/^ *Depends: \(linux-image-.*\)$/\1/p' | head -n 1
}

# fetch PACKAGE: the folder appears as a whole, or not at all.
fetch()
{
    work=$(mktemp -d "$FOLDER.XXXXXX")
    trap 'rm -rf "$work"' EXIT
    chmod 755 "$work"
    (cd "$work" && apt-get download "$1" && mkdir unpacked && dpkg-deb -x ./*.deb unpacked)
    rm -rf "$FOLDER"
    mv "$work/unpacked" "$FOLDER"
}

# fetch runs as a command of its own, so that its trap is its own too.
if [ "${1-}" = --fetch ]; then
    fetch "$2"
    exit 0
fi
for image in "$FOLDER"/boot/vmlinuz-*; do
    [ ! -e "$image" ] || exit 0
done
package=$(current_package) || package=
if [ -z "$package" ]; then
    say "   no kernel for a guest: the package lists have no $METAPACKAGE"
    exit 0
fi
log=$(mktemp)
step "fetching a kernel for a guest, $package" "$log" "$0" --fetch "$package" || :
rm -f "$log"
