#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: MIT
# timeout: 240
# builds: plain
# slow
"""A guest boots and writes to a disk of QEMU's main loop while its VM is mounted, and crawled: it is not disturbed, and the
mount counts its bytes as it does."""

import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
import guest
from lib import SOURCE, Mount, check, equal, main, need, none, skip, tests_for, until
from qemus import ROOM, VERSIONS, Qemu
from readers import Readers

BLOCK = 4096
PHASES = (64, 300, 1000)  # blocks of each dd: before there is a reader, and while the mount is crawled
POLLERS, POLL_SECONDS = 10, 0.1
PATIENCE = 90  # seconds for anything that the guest does
# What a kernel says that was kept waiting, or whose disk failed.
COMPLAINTS = re.compile(r"stall|lockup|hung|blocked for more|clocksource.*unstable|I/O error|timed? ?out|Call Trace|BUG:", re.I)
# Does one dd for each line that it gets, and says what dd says.
SCRIPT = f"""busybox=/bin/busybox
echo guest ready
while read -r count; do
    [ "$count" != end ] || break
    $busybox dd if=/dev/zero of=/dev/vda bs={BLOCK} count=$count oflag=direct
    echo guest wrote
done
$busybox dmesg
echo guest over"""


class Console:
    """The guest's serial line."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        self.text = ""

    def send(self, line):
        self.socket.sendall(line.encode() + b"\n")

    def read_to(self, words):
        """What it says up to these words."""
        end = time.monotonic() + PATIENCE
        while words not in self.text:
            self.socket.settimeout(max(end - time.monotonic(), 0.01))
            try:
                data = self.socket.recv(65536)
            except TimeoutError:
                data = b""
            check(data, f"the guest does not say {words!r}: {self.text[-600:]!r}")
            self.text += data.decode(errors="replace")
        said, _, self.text = self.text.partition(words)
        return said


def grep(mount, over):
    process = subprocess.Popen(["grep", "-rs", "no such words", mount.file("qom")], stdout=subprocess.DEVNULL)
    while process.poll() is None:
        if over.wait(0.05):
            process.kill()
    process.wait()


def crawl(mount):
    """All that reads a mount at once: grep, whole trees, and pollers of statistics."""
    readers = Readers()
    readers.add("grep", lambda: grep(mount, readers.over))
    readers.add("tree", lambda: mount.read(".tree.json"), POLL_SECONDS)
    for _ in range(POLLERS):
        readers.add("poll", lambda: mount.read("blockstats", ".tree.json"), POLL_SECONDS)
    return readers


def machine(folder, kernel):
    """The options of a small machine that boots it. What it needs is put where every QEMU sees it."""
    shutil.copy(kernel.image, os.path.join(folder, "kernel"))
    with open(os.path.join(folder, "initramfs"), "wb") as file:
        file.write(guest.initramfs(kernel, shutil.which("busybox"), SCRIPT))
    with open(os.path.join(folder, "disk"), "wb") as file:
        file.truncate(16 << 20)
    return ["-nodefaults", "-no-user-config", "-no-reboot", "-m", "192",
            *(["-accel", "kvm"] if os.access("/dev/kvm", os.W_OK) else []), "-accel", "tcg",
            "-kernel", f"{folder}/kernel", "-initrd", f"{folder}/initramfs", "-append", guest.COMMAND_LINE,
            "-chardev", f"socket,id=console0,path={folder}/console,server=on,wait=off", "-serial", "chardev:console0",
            "-blockdev", f"driver=file,node-name=file0,filename={folder}/disk",
            "-device", "virtio-blk-pci,id=disk0,drive=file0"]


def statistic(mount, name):
    return int(mount.read("blockstats", "disk0", name))


def write(console, mount, count):
    """One dd of the guest: what it says, and what the mount says, both exactly."""
    bytes_before, requests_before = statistic(mount, "wr_bytes"), statistic(mount, "wr_operations")
    console.send(str(count))
    said = console.read_to("guest wrote")
    check(f"{count}+0 records out" in said, f"dd says {said!r}")
    wanted = (bytes_before + count * BLOCK, requests_before + count)
    until(lambda: statistic(mount, "wr_bytes") >= wanted[0], 30)
    equal((statistic(mount, "wr_bytes"), statistic(mount, "wr_operations")), wanted, f"bytes and requests after {said!r}")


@tests_for(VERSIONS or ["none"], "QEMU {}: a guest boots and writes, undisturbed, while its mount is crawled")
def undisturbed(version):
    need("busybox", "ldd", "grep")
    kernel = guest.find_kernel(os.path.join(SOURCE, "build-kernel"))
    if not VERSIONS:
        skip("no QEMU is installed")
    if kernel is None:
        skip("there is no kernel in build-kernel/: tests/guest-kernel.sh fetches it")
    folder = tempfile.mkdtemp(prefix="qomfs-guest-", dir=ROOM)
    try:
        with Qemu(version, *machine(folder, kernel)) as qemu, Mount(qemu.target, arguments=["--qmp=none"]) as mount:
            boot(qemu, mount, Console(os.path.join(folder, "console")))
    finally:
        shutil.rmtree(folder)


def boot(qemu, mount, console):
    equal(statistic(mount, "wr_bytes"), 0, "bytes written before it runs")
    with crawl(mount) as first:
        qemu.qmp.call("cont")
        console.read_to("guest ready")
    with console.socket:
        write(console, mount, PHASES[0])
        with crawl(mount) as second:
            for count in PHASES[1:]:
                write(console, mount, count)
            # grep goes on: property by property, as before qom-list-get, a QEMU is asked for longer than this
            check(until(lambda: (second.done["tree"] and second.done["poll"] >= POLLERS) or second.failures, 60),
                  f"readers starve: {second.done}")
        console.send("end")
        messages = console.read_to("guest over").splitlines()
    none(first.failures + second.failures, "readers that failed")
    check(len(messages) > 100, f"dmesg says only {messages}")
    none([line for line in messages if COMPLAINTS.search(line)], "the guest's kernel complains")
    equal(mount.read("vm", "connected"), b"true\n", "vm/connected")


main()
