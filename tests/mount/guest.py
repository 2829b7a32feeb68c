# SPDX-License-Identifier: MIT
"""A guest that boots: a Debian kernel, and an initramfs that is made here, of this machine's busybox and the kernel's
modules for virtio disks."""

import glob
import gzip
import os
import re
import stat
import subprocess

DRIVERS = ("virtio_pci", "virtio_blk")
COMMAND_LINE = "console=ttyS0 quiet panic=-1 tsc=reliable no_timer_check"


class Kernel:
    """A kernel and its modules, unpacked in a folder as its package has them."""

    def __init__(self, image):
        self.image = image
        self.root = os.path.dirname(os.path.dirname(image))
        self.version = os.path.basename(image).removeprefix("vmlinuz-")

    def modules(self, names):
        """The paths of modules, each after those that it needs; what is built in has none."""
        paths = []
        for name in names:
            for path in glob.glob(os.path.join(self.root, "lib/modules", self.version, "**", name + ".ko"), recursive=True):
                with open(path, "rb") as file:
                    needs = re.search(rb"\0depends=([^\0]*)\0", file.read())
                needed = self.modules(needs.group(1).decode().split(",")) if needs else []
                paths += [path for path in [*needed, path] if path not in paths]
        return paths


def find_kernel(folder):
    """The newest that guest-kernel.sh unpacked there; None."""
    images = sorted(glob.glob(os.path.join(folder, "boot", "vmlinuz-*")), key=os.path.getmtime)
    return Kernel(images[-1]) if images else None


def libraries(program):
    """What a program is linked with, its interpreter too."""
    said = subprocess.run(["ldd", program], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False).stdout.decode()
    return sorted(set(re.findall(r"(/\S+) \(0x", said)))


class Archive:
    """An initramfs: a cpio archive in its `newc` form (Documentation/driver-api/early-userspace/buffer-format.rst of Linux)."""

    def __init__(self):
        self.parts, self.names = [], set()

    def add(self, name, mode, content=b""):
        if name in self.names:
            return
        parent = os.path.dirname(name)
        if parent:
            self.add(parent, stat.S_IFDIR | 0o755)
        self.names.add(name)
        number, encoded = len(self.names), name.encode() + b"\0"
        fields = (number, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(encoded), 0)
        for part in (b"070701" + b"".join(b"%08x" % field for field in fields) + encoded, content):
            self.parts += [part, bytes(-len(part) % 4)]

    def add_file(self, name, path):
        with open(path, "rb") as file:
            self.add(name, stat.S_IFREG | 0o755, file.read())

    def bytes(self):
        self.add("TRAILER!!!", 0)
        return gzip.compress(b"".join(self.parts), 1)


def initramfs(kernel, busybox, script):
    """The bytes of one. script: what /init does once the disks are there, in busybox's shell."""
    archive = Archive()
    archive.add_file("bin/busybox", busybox)
    for path in libraries(busybox):
        archive.add_file(path.lstrip("/"), os.path.realpath(path))
    lines = ["#!/bin/busybox sh", "/bin/busybox mount -t devtmpfs none /dev", "/bin/busybox mount -t proc none /proc"]
    for name in ("dev", "proc"):
        archive.add(name, stat.S_IFDIR | 0o755)
    for path in kernel.modules(DRIVERS):
        archive.add_file("modules/" + os.path.basename(path), path)
        lines.append("/bin/busybox insmod /modules/" + os.path.basename(path))
    lines += [script, "/bin/busybox poweroff -f", ""]
    archive.add("init", stat.S_IFREG | 0o755, "\n".join(lines).encode())
    return archive.bytes()
