#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: MIT
# timeout: 300
# slow
"""A running QEMU that changes, is set, stops, dies and comes back."""

import errno
import os
import signal
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "qmp"))
from lib import Mount, check, equal, main, skip, tests_for, until
from peer import Peer
from qemus import VERSIONS, Qemu

TIMEOUT = 2


def error_of(path):
    """(errno, seconds) of reading a file."""
    began = time.monotonic()
    try:
        with open(path, "rb") as file:
            file.read()
        number = 0
    except OSError as error:
        number = error.errno
    return number, time.monotonic() - began


def live(version, options=f"timeout={TIMEOUT}"):
    if version not in VERSIONS:
        skip("no QEMU is installed")
    qemu = Qemu(version)
    return qemu, Mount(qemu.target, options=options, arguments=["--qmp=none"])


@tests_for(VERSIONS or ["none"], "QEMU {}: what another monitor adds and removes is seen, by a look at the name alone")
def hotplug(version):
    qemu, mount = live(version)
    with qemu, mount:
        path = mount.file("qom", "objects", "new")
        check(not os.path.exists(path), "there is such an object already")
        qemu.qmp.call("object-add", **{"qom-type": "memory-backend-ram", "id": "new", "size": 1 << 20})
        check(until(lambda: os.path.exists(path)), "it is not seen")
        equal(mount.read("qom", "objects", "new", "size"), b"1048576\n", "its size")
        inode = os.stat(path).st_ino
        qemu.qmp.call("object-del", id="new")
        check(until(lambda: not os.path.exists(path)), "it is still there")
        qemu.qmp.call("device_add", driver="virtio-rng-pci", id="rng7")
        device = mount.file("qom", "machine", "peripheral", "rng7", "virtio-backend", "type")
        check(until(lambda: os.path.exists(device)), "the device is not seen, with what it is made of")
        qemu.qmp.call("object-add", **{"qom-type": "memory-backend-ram", "id": "new", "size": 1 << 20})
        check(until(lambda: os.path.exists(path)), "it is not seen again")
        check(os.stat(path).st_ino != inode, "it has the inode number of the one before")


@tests_for(VERSIONS or ["none"], "QEMU {}: a property is set, a bad value refused in QEMU's words")
def setting(version):
    qemu, mount = live(version, "rw")
    with qemu, mount:
        file = mount.file("qom", "machine", "graphics")
        equal(os.stat(file).st_mode & 0o777, 0o600, "its mode")
        with open(file, "w") as opened:
            opened.write("false\n")
        equal(qemu.qmp.call("qom-get", path="/machine", property="graphics"), False, "what QEMU has")
        equal(mount.read("qom", "machine", "graphics"), b"false\n", "what is read")
        read_only = mount.file("qom", "machine", "rtc-time")
        try:
            with open(read_only, "w") as opened:
                opened.write("{}\n")
            check(False, "rtc-time can be set")
        except OSError as error:
            equal(error.errno, errno.EINVAL, "rtc-time")
        said = qemu.qmp.ask("qom-set", path="/machine", property="rtc-time", value={})["error"]["desc"]
        equal(os.getxattr(read_only, "user.qom.error").decode(), said, "why")


@tests_for(VERSIONS or ["none"], "QEMU {}: read-only unless asked for, and only its user may read")
def modes(version):
    qemu, mount = live(version)
    with qemu, mount:
        file = mount.file("qom", "machine", "graphics")
        equal(os.stat(file).st_mode & 0o777, 0o400, "a file's mode")
        equal(os.stat(mount.file("qom")).st_mode & 0o777, 0o500, "a directory's mode")
        try:
            open(file, "w")
            check(False, "it can be opened for writing")
        except OSError as error:
            equal(error.errno, errno.EROFS, "opened for writing")


@tests_for(VERSIONS or ["none"], "QEMU {}: stopped, a read times out once, then at once; names and vm/ answer")
def stopped(version):
    qemu, mount = live(version)
    with qemu, mount:
        file = mount.file("qom", "machine", "rtc-time")
        mount.read("qom", "machine", "rtc-time")
        qemu.signal(signal.SIGSTOP)
        time.sleep(1.2)  # what was read is too old now
        number, took = error_of(file)
        equal(number, errno.ETIMEDOUT, "the first read")
        check(took < TIMEOUT + 8, f"it took {took:.1f} s")
        began = time.monotonic()
        for _ in range(20):
            equal(error_of(file)[0], errno.ETIMEDOUT, "another read")
        os.listdir(mount.file("qom", "machine"))
        os.statvfs(mount.path)
        check(time.monotonic() - began < 5 * TIMEOUT, "what follows waits too")
        check(until(lambda: mount.read("vm", "connected") == b"false\n"), "vm/connected")
        check(len(mount.read("vm", "stale-since")) > 10, "vm/stale-since")
        qemu.signal(signal.SIGCONT)
        check(until(lambda: error_of(file)[0] == 0), "it does not come back")
        check(until(lambda: mount.read("vm", "connected") == b"true\n"), "vm/connected")


@tests_for(VERSIONS or ["none"], "QEMU {}: killed, its tree stays; started again, it is mounted again")
def killed(version):
    qemu, mount = live(version)
    with qemu, mount:
        file = mount.file("qom", "machine", "rtc-time")
        mount.read("qom", "machine", "rtc-time")
        qemu.kill()
        check(until(lambda: error_of(file)[0] == errno.EIO), "it can be read")
        check(until(lambda: error_of(file)[0] and "cannot attach" in os.getxattr(file, "user.qom.error").decode()), "why")
        check("type" in os.listdir(mount.file("qom", "machine")), "the tree is gone")
        check(until(lambda: mount.read("vm", "connected") == b"false\n"), "vm/connected")
        qemu.start()
        check(until(lambda: error_of(file)[0] == 0), "it does not come back")


@tests_for(VERSIONS or ["none"], "QEMU {}: while it is mounted its socket serves others, when it is idle at the latest")
def others(version):
    qemu, mount = live(version, "release=0.5")
    with qemu, mount:
        guest = Peer(qemu.target, patience=60)  # it is greeted when the mount is not used any more
        guest.greet()
        check(guest.call("query-status")["status"] == "prelaunch", "another client")
        guest.close()
        check(until(lambda: error_of(mount.file("qom", "machine", "rtc-time"))[0] == 0), "the mount takes it again")


main()
