#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: MIT
"""The form of fstab: mount -t fuse.qomfs SOURCE MOUNTPOINT -o OPTIONS, which starts qomfs from the system's PATH."""

import os
import shlex
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from lib import QOMFS, check, check_nothing_left, equal, main, need, need_root, recorded, run, scratch, test, tests_for

DUMP = recorded("qemu-7.2-pc")


def in_namespace(point, script):
    """Runs a shell script where `qomfs` is in the PATH that mount(8) uses, and nothing outside sees what it mounts."""
    need_root()
    need("unshare", "mount.fuse3")
    folder = scratch("bin")
    os.symlink(QOMFS, os.path.join(folder, "qomfs"))
    prepare = f"mount --bind {folder} /usr/local/bin || exit 99; set -e; m={point} dump={shlex.quote(DUMP)};"
    result = run("unshare", "-m", "--propagation", "private", "/bin/sh", "-c", prepare + script)
    check(result.returncode != 99, f"no such namespace: {result.stderr!r}")
    return result


FORMS = {
    "with ro": 'mount -t fuse.qomfs -o ro "$dump" "$m"',
    "without options": 'mount -t fuse.qomfs "$dump" "$m"',
    "with options of both sides": 'mount -t fuse.qomfs -o ro,allow_other,ttl=1,noatime,nofail,_netdev "$dump" "$m"',
    "by mount.fuse3": 'mount.fuse3 qomfs#"$dump" "$m" -o ro',
    "a line of fstab": 'echo "$dump $m fuse.qomfs ro,noauto,allow_other 0 0" > "$m/../t"; mount -T "$m/../t" "$m"',
    "a line of fstab with defaults": 'echo "$dump $m fuse.qomfs defaults 0 0" > "$m/../t"; mount -T "$m/../t" "$m"',
    "the model": 'mount -t fuse.qomfs -o ro model "$m"',
    "the model, to be written": 'mount -t fuse.qomfs model "$m"',
}


@tests_for(FORMS, "{}")
def form(name):
    point = os.path.join(scratch("m"), "point")
    os.mkdir(point)
    script = f'{FORMS[name]}; head -c 9 "$m/qom/.tree.json"; findmnt -no FSTYPE "$m"; umount "$m"'
    result = in_namespace(point, script)
    equal((result.returncode, result.stdout, result.stderr), (0, b'{"name":"fuse.qomfs\n', b""), "status, output")
    check_nothing_left(point)


@test("an error of ours is mount's error")
def errors():
    point = os.path.join(scratch("m"), "point")
    os.mkdir(point)
    result = in_namespace(point, 'mount -t fuse.qomfs -o ro /nowhere.json "$m"')
    check(result.returncode != 0 and b"/nowhere.json" in result.stderr, f"it says {result.stderr!r}")
    result = in_namespace(point, 'mount -t fuse.qomfs -o ro,frobnicate "$dump" "$m"')
    check(result.returncode != 0 and b"frobnicate" in result.stderr, f"it says {result.stderr!r}")
    check_nothing_left(point)


main()
