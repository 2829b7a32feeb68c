# SPDX-License-Identifier: MIT
"""What the cases share that change a mounted tree while they look at it: the helper fresh-mount, told by lines.

    with Fresh() as fresh:
        fresh.tell("set", "pair/front", "n", 5)
        fresh.read("pair/front/n")          b"5\\n"
"""

import ctypes
import os
import subprocess

from lib import PACE, SLOW, Failed, check, check_nothing_left, equal, lazy_unmount, mounts_at, read_file, scratch

_libc = ctypes.CDLL(None, use_errno=True)


class Fresh:
    """A mount by fresh-mount. At the end it must stop with status 0, in silence, and leave nothing behind."""

    def __init__(self, timeout=1.0):
        self.path = scratch("mount")
        self.timeout = timeout * PACE
        program = os.path.join(os.environ["BUILD"], "tests", "mount", "fresh-mount")
        self.process = subprocess.Popen(
            [program, self.path, str(int(self.timeout * 1000))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            bufsize=1,
        )
        ready = self.process.stdout.readline()
        if ready != "ready\n":
            self.destroy()
            raise Failed(f"fresh-mount does not mount: {self.process.stderr.read()!r}")

    def tell(self, *words):
        """Runs a command, and returns the number in its answer."""
        self.process.stdin.write("\t".join(map(str, words)) + "\n")
        answer = self.process.stdout.readline().split()
        check(answer[:1] == ["ok"], f"{words[:3]}: {answer}")
        return int(answer[1])

    def file(self, path=""):
        """Where something below qom/ stands."""
        return os.path.join(self.path, "qom", path)

    def read(self, path):
        return read_file(self.file(path))

    def stop(self):
        self.process.stdin.close()
        self.wait()

    def wait(self):
        try:
            status = self.process.wait(20 * SLOW)
        except subprocess.TimeoutExpired:
            self.destroy()
            raise Failed("the mount does not end") from None
        messages = self.process.stderr.read()
        self.close()
        lost = bool(mounts_at(self.path))
        lazy_unmount(self.path)
        equal((status, messages, lost), (0, "", False), "how the mount ended (status, messages, still mounted)")
        check_nothing_left(self.path)

    def destroy(self):
        self.process.kill()
        self.process.wait()
        lazy_unmount(self.path)

    def close(self):
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            stream.close()

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        if kind is not None:
            self.destroy()
        elif self.process.returncode is None:
            self.stop()


def read_rest(fd, chunk=1 << 20):
    """What an open file gives from where it stands to its end."""
    parts = []
    while part := os.read(fd, chunk):
        parts.append(part)
    return b"".join(parts)


def getdents(fd, size):
    """The next entries of an open directory, as (name, inode number): one getdents64(2). Empty at the end."""
    buffer = ctypes.create_string_buffer(size)
    number_of_getdents64 = 217 if os.uname().machine == "x86_64" else 61
    length = _libc.syscall(number_of_getdents64, fd, buffer, size)
    if length < 0:
        raise OSError(ctypes.get_errno(), "getdents64")
    entries, at = [], 0
    while at < length:
        ino = int.from_bytes(buffer[at:at + 8], "little")
        record = int.from_bytes(buffer[at + 16:at + 18], "little")
        name = buffer[at + 19:at + record].split(b"\0", 1)[0].decode()
        if name not in (".", ".."):
            entries.append((name, ino))
        at += record
    return entries


def list_rest(fd, size=4096):
    """All entries from where an open directory stands to its end."""
    found = []
    while entries := getdents(fd, size):
        found += entries
    return found

