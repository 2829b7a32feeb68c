#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: MIT
"""Who may do what: other users with and without allow_other, a mount by a plain user."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from lib import NOBODY, QOMFS, Mount, check, copy_for_all, equal, main, need, need_root, nobodys_run_time_dir
from lib import open_to_all, read_file, recorded, run, run_as_nobody, scratch, test

DUMP = recorded("qemu-7.2-pc")


def as_nobody(script, *arguments):
    return run_as_nobody("sh", "-c", script, "sh", *arguments)


@test("without allow_other nobody else sees anything")
def private():
    with Mount(DUMP) as mount:
        open_to_all(os.path.dirname(mount.path))
        result = as_nobody('ls "$1"; cat "$1"/qom/type', mount.path)
        equal((result.stdout, result.stderr.count(b"ermission denied")), (b"", 2), "what another user sees")


@test("with allow_other everybody may read, and nobody write")
def readable():
    with Mount(DUMP, options="allow_other") as mount:
        open_to_all(os.path.dirname(mount.path))
        seen = as_nobody('cat "$1"/qom/type; ls "$1"', mount.path).stdout.split()
        equal(seen[0], b"container", "what another user reads")
        result = as_nobody('echo x > "$1"/qom/type; echo x > "$1"/new; mkdir "$1"/d; rm -f "$1"/qom/type', mount.path)
        equal(result.returncode != 0 and result.stderr.count(b"\n"), 4, f"refusals in {result.stderr!r}")
        equal(mount.read("qom", "type"), b"container\n", "the file")


def writable_file(mount):
    for where, _, files in os.walk(mount.file("qom")):
        for name in files:
            if os.stat(os.path.join(where, name), follow_symlinks=False).st_mode & 0o777 == 0o644:
                return os.path.join(where, name)
    check(False, "the model has no property that can be written")


@test("with allow_other, another user can read the model's writable properties, and not write them")
def model():
    need_root()
    with Mount(options="allow_other") as mount:
        open_to_all(os.path.dirname(mount.path))
        path = writable_file(mount)
        before = read_file(path)
        result = as_nobody('cat "$1" && cat "$1" > "$1"', path)
        equal(result.stdout, before, "what another user reads")
        check(result.returncode != 0 and b"ermission denied" in result.stderr, f"writing: {result}")
        for script in ('exec 3> "$1"', 'exec 3>> "$1"', 'exec 3<> "$1"', 'truncate -s 0 "$1"'):
            result = as_nobody(script, path)
            check(result.returncode != 0 and b"ermission denied" in result.stderr, f"{script}: {result}")
        equal(read_file(path), before, "the value")


@test("a plain user mounts, reads, unmounts; files are his own; root does not see them")
def plain_user():
    need_root()
    need("unshare", "setpriv")
    point = scratch("mount")
    os.chown(point, NOBODY, NOBODY)
    open_to_all(point)
    # /dev/fuse is everybody's only in a mount namespace of our own
    script = f"""
        mount -t tmpfs tmpfs /mnt && mknod -m 666 /mnt/fuse c 10 229 && mount --bind /mnt/fuse /dev/fuse || exit 99
        user="setpriv --reuid {NOBODY} --regid {NOBODY} --clear-groups"
        export XDG_RUNTIME_DIR={nobodys_run_time_dir()}
        $user "$1" "$2" "$3" || exit 1
        $user cat "$3/qom/type"
        $user stat -c %u:%g:%a "$3" "$3/qom/type"
        cat "$3/qom/type" 2> /dev/null && echo root sees it
        $user sh -c 'echo x > "$1"/qom/type' sh "$3" 2> /dev/null && echo he can write
        $user fusermount3 -u "$3" || exit 2
        $user "$1" -f "$2" "$3" & pid=$!
        until grep -q " $3 " /proc/self/mountinfo; do sleep 0.05; done
        kill -KILL $pid; wait $pid 2> /dev/null
        $user "$1" "$2" "$3" || exit 4
        $user cat "$3/qom/type"
        $user fusermount3 -u "$3" || exit 5
        grep -c " $3 " /proc/self/mountinfo
    """
    result = run("unshare", "-m", "--propagation", "private", "sh", "-c", script, "sh", copy_for_all(QOMFS),
                 copy_for_all(DUMP), point)
    check(result.returncode != 99, f"no such namespace: {result.stderr!r}")
    owner = f"{NOBODY}:{NOBODY}"
    wanted = f"container\n{owner}:555\n{owner}:444\ncontainer\n0\n"
    equal((result.stdout.decode(), result.stderr), (wanted, b""), "what he sees")


main()
