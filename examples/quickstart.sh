#!/bin/sh
# SPDX-License-Identifier: MIT
#
# From nothing to a mounted virtual machine: installs what is needed (Debian 12), builds into ./build, mounts the
# built-in VM and looks around in it. Can be run again at any time. Asks for nothing but, perhaps, sudo's password.
# QOMFS_BUILD is another build folder, for tests.
set -eu

SOURCE=$(cd "$(dirname "$0")/.." && pwd)
. "$SOURCE/tests/lib.sh"

usage()
{
    cat <<'END'
usage: examples/quickstart.sh [--no-install] [MOUNTPOINT]

Installs what qomfs needs, builds it, mounts the built-in VM and shows it.
Without MOUNTPOINT that is a temporary one, unmounted in the end; what is mounted
at a MOUNTPOINT (made if it does not exist) stays, for you to look around in.
END
}

install=yes mountpoint=''
for argument in "$@"; do
    case $argument in
    --no-install) install=no ;;
    -h | --help) usage && exit 0 ;;
    -*) usage >&2 && exit 2 ;;
    *)
        [ -z "$mountpoint" ] || { usage >&2 && exit 2; }
        mountpoint=$argument
        ;;
    esac
done

BUILD=${QOMFS_BUILD:-$SOURCE/build}
LINES_SHOWN=14

# show COMMAND: prints a command as one would type it in the mount point, runs it, and shows the start of its output.
show()
{
    printf '\n$ %s\n' "$1"
    output=$(sh -c "$1" 2>&1) || die "this command failed in $mountpoint:" "$1" "$output"
    printf '%s\n' "$output" | awk -v most="$LINES_SHOWN" 'NR <= most
        END { if (NR > most) print "... (and " NR - most " more lines)" }'
}

# A path as one would type it in a shell.
quoted()
{
    case $1 in
    *[!a-zA-Z0-9_./-]*) printf "'%s'" "$(printf %s "$1" | sed "s/'/'\\\\''/g")" ;;
    *) printf %s "$1" ;;
    esac
}

# The mount options of what is mounted at a folder; nothing where nothing is.
mount_options()
{
    # mountinfo shows a blank as \040, and so on
    escaped=$(printf '%s' "$1" | sed 's/\\/\\134/g; s/ /\\040/g; s/\t/\\011/g')
    POINT=$escaped awk '$5 == ENVIRON["POINT"] { options = $NF } END { print options }' /proc/self/mountinfo
}

# The command that unmounts a folder: what root has mounted, only root can.
unmount_command()
{
    case ,$(mount_options "$1"), in
    *,user_id="$(id -u)",*) say "fusermount3 -u" ;;
    *) say "sudo umount" ;;
    esac
}

# Ends a temporary mount, however this script ends.
clean_up()
{
    if [ -n "$temporary" ]; then
        cd /
        # shellcheck disable=SC2046 # words
        [ -z "$(mount_options "$temporary")" ] || $(unmount_command "$temporary") "$temporary" || :
        rmdir "$temporary" 2>/dev/null || :
    fi
}

# Mounts at $1. Who may not open /dev/fuse lets root mount it for all users, where there is sudo.
mount_vm()
{
    if [ ! -e /dev/fuse ]; then
        die "/dev/fuse is missing, so nothing can be mounted. Either FUSE is not loaded:  sudo modprobe fuse" \
            "or this is a container; start it with:  --device /dev/fuse --cap-add SYS_ADMIN"
    fi
    if [ -r /dev/fuse ] && [ -w /dev/fuse ]; then
        "$QOMFS" "$1"
    elif command -v sudo >/dev/null; then
        say "   /dev/fuse is closed to $(id -un), so root mounts. To allow it to everybody:  sudo chmod 0666 /dev/fuse"
        sudo "$QOMFS" "$1" -o allow_other
    else
        die "/dev/fuse is closed to $(id -un), and there is no sudo. As root, one of:" \
            "chmod 0666 /dev/fuse        to allow it to everybody" \
            "$QOMFS $1 -o allow_other    to mount it for you"
    fi
}

compile()
{
    is_configured "$BUILD" || configure "$BUILD" || return
    meson compile -C "$BUILD" qomfs qom
}

title "1. Packages"
if [ "$install" = yes ]; then
    "$SOURCE/tests/install-packages.sh" build
else
    say "   using what is there"
fi

title "2. Building, in $BUILD"
check_writable "$BUILD"
build_log=$(mktemp)
step "building" "$build_log" compile || die "the build failed; all of its output is in $build_log"
rm -f "$build_log"
QOMFS=$(built_qomfs "$BUILD")

title "3. Mounting the built-in VM"
temporary=''
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
if [ -z "$mountpoint" ]; then
    temporary=$(mktemp -d -t qomfs-XXXXXX)
    mountpoint=$temporary
else
    # A mount whose daemon was killed cannot be entered, nor made: qomfs repairs it.
    mountpoint=$(realpath -m "$mountpoint" 2>/dev/null || realpath -ms "$mountpoint")
    [ -n "$(mount_options "$mountpoint")" ] || mkdir -p "$mountpoint"
fi
if [ -n "$(mount_options "$mountpoint")" ] && ls "$mountpoint/qom" >/dev/null 2>&1; then
    say "   it is mounted at $mountpoint already"
else
    mount_vm "$mountpoint"
    say "   mounted at $mountpoint"
fi

title "4. Looking around, in $mountpoint"
cd "$mountpoint"
show 'ls -lA'
show 'ls -l qom/machine'
show 'cat qom/machine/type vm/name vm/status'
show 'ls qom/machine/peripheral'
show "jq -c '.children[] | [.name, (.properties[] | select(.name == \"type\").value)]' qom/machine/peripheral/.tree.json"
show 'grep -H "" cpu-definitions/EPYC-Genoa/*'
show 'grep -H "" blockstats/disk0/rd_* blockstats/disk0/wr_*'
if [ -w qom/objects/iothread0/poll-max-ns ]; then
    show 'echo 4096 > qom/objects/iothread0/poll-max-ns && cat qom/objects/iothread0/poll-max-ns'
fi

if [ -n "$temporary" ]; then
    title "Done: it is unmounted now"
    say "To keep one for yourself:  $0 ~/vm        or, the binary alone:  mkdir -p ~/vm && $QOMFS ~/vm"
else
    title "Done: it stays mounted at $mountpoint"
    say "To unmount it:  $(unmount_command "$mountpoint") $(quoted "$mountpoint")"
fi
