# SPDX-License-Identifier: MIT
"""What is measured, started and ended: mounts of ours, QEMUs, the bare programs. All in one folder below /tmp, which
QEMUs that live in systems of their own see too."""

import functools
import glob
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent.parent
START_SECONDS = 60
PRIORITY = 5


class LabError(Exception):
    """What the user must know; the message is the whole of it."""


class Qmp:
    """A connection for what is not measured: preparations and questions about what is there."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(START_SECONDS)
        self.socket.connect(path)
        self.file = self.socket.makefile("rb")
        self.file.readline()
        self.call("qmp_capabilities")

    def call(self, command, **arguments):
        request = {"execute": command, "arguments": arguments} if arguments else {"execute": command}
        self.socket.sendall(json.dumps(request, separators=(",", ":")).encode() + b"\n")
        while True:
            line = self.file.readline()
            if not line:
                raise LabError(f"the connection ended at {command}")
            reply = json.loads(line)
            if "error" in reply:
                raise LabError(f"{command}: {reply['error']['desc']}")
            if "return" in reply:
                return reply["return"]

    def close(self):
        self.file.close()
        self.socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


@functools.cache
def may_come_first():
    """Whether this user may have real-time priority, as `chrt -r` gives it."""
    return shutil.which("chrt") is not None and subprocess.run(
        ["chrt", "-r", str(PRIORITY), "true"], stderr=subprocess.DEVNULL, check=False).returncode == 0


class Server:
    """A process that was started here, and its sockets."""

    def __init__(self, name, process, sockets, mount=None):
        self.name, self.process, self.sockets, self.mount = name, process, sockets, mount
        self.pid = process.pid

    @property
    def socket(self):
        return self.sockets[0]

    def path(self, *parts):
        return os.path.join(self.mount, *parts)

    def way(self, name, work, detail, sock=0):
        """An argument of ways-bench."""
        where = self.sockets[sock] if self.sockets else "-"
        return ",".join([name, self.name, where, str(self.pid), work, detail])

    def threads(self):
        """Names of its threads by id."""
        names = {}
        for task in Path(f"/proc/{self.pid}/task").iterdir():
            names[int(task.name)] = (task / "comm").read_text().strip()
        return names

    def pin(self, cpu_of):
        """Each thread to the CPU that cpu_of(its name, whether it is the first) says; where this user may, before all else
        that the machine does."""
        for tid, name in self.threads().items():
            os.sched_setaffinity(tid, {cpu_of(name, tid == self.pid)})
            if may_come_first():
                os.sched_setscheduler(tid, os.SCHED_RR, os.sched_param(PRIORITY))

    def end(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        if self.mount and os.path.ismount(self.mount):
            subprocess.run(["umount", "-l", self.mount], check=False)


class Lab:
    """All that is running. Use as a context; nothing stays."""

    def __init__(self, build):
        self.build = Path(build)
        self.folder = Path(tempfile.mkdtemp(prefix="qomfs-bench.", dir="/tmp"))
        os.chmod(self.folder, 0o755)
        self.servers = []
        self.count = 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for server in reversed(self.servers):
            server.end()
        if not any(os.path.ismount(entry) for entry in self.folder.iterdir()):
            shutil.rmtree(self.folder)

    def end(self, *servers):
        for server in servers:
            server.end()
            self.servers.remove(server)

    def new_path(self, stem):
        self.count += 1
        return str(self.folder / f"{stem}{self.count}")

    def tool(self, name):
        return str(self.build / "tests" / "bench" / name)

    def file(self, stem, text):
        path = self.new_path(stem)
        Path(path).write_text(text)
        return path

    def start(self, name, command, sockets=(), mount=None, env=None):
        log = self.new_path("log")
        with open(log, "wb") as out:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                                       env={**os.environ, **(env or {})})
        server = Server(name, process, list(sockets), mount)
        self.servers.append(server)
        end = time.monotonic() + START_SECONDS
        while not (all(os.path.exists(path) for path in sockets) and (not mount or os.path.ismount(mount))):
            if process.poll() is not None or time.monotonic() > end:
                raise LabError(f"{name} does not start: {' '.join(command)}\n{Path(log).read_text()}")
            time.sleep(0.01)
        return server

    def qomfs(self, source, *options, name="qomfs", env=None):
        """Ours, with its companion socket. source: a path, or the configuration of the built-in VM."""
        if isinstance(source, dict):
            source = self.file("vm", json.dumps(source))
        mount, sock = self.new_path("mount"), self.new_path("qmp")
        os.mkdir(mount)
        return self.start(name, [str(self.build / "fs" / "qomfs"), "-f", f"--qmp={sock}", *options, str(source), mount],
                          [sock], mount, env)

    def qemu(self, qemu, *options, monitors=1, env=None):
        """A QEMU that is stopped, with no guest."""
        sockets = [self.new_path("qmp") for _ in range(monitors)]
        command = [qemu.path, "-display", "none", "-S", *options]
        for path in sockets:
            command += ["-qmp", f"unix:{path},server=on,wait=off"]
        server = self.start(qemu.name, command, sockets, env=env)
        with Qmp(server.socket) as qmp:
            qmp.call("query-status")  # its socket is there long before its main loop runs
        return server

    def bare_qmp(self, reply):
        """The limit: a server that writes these bytes whatever it is asked."""
        sock = self.new_path("bare")
        return self.start("bare socket", [self.tool("bare-qmp"), sock, self.file("reply", reply)], [sock])

    def bare_fuse(self, content):
        """The limit: a FUSE program with the file `tree.json` in memory."""
        folder, mount = self.new_path("content"), self.new_path("mount")
        os.mkdir(folder)
        os.mkdir(mount)
        Path(folder, "tree.json").write_bytes(content)
        subprocess.run([self.tool("bare-fuse"), folder, mount], check=True, timeout=START_SECONDS)
        self.servers.append(Unmounter(mount))
        return mount

    def measure(self, tool, *arguments, cpu=None, timeout=1200):
        """Runs one of the C programs, which prints JSON by the line."""
        command = [self.tool(tool), *map(str, arguments)]
        if cpu is not None:
            first = ["chrt", "-r", str(PRIORITY)] if may_come_first() else []
            command = [*first, "taskset", "-c", str(cpu), *command]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=timeout, check=False)
        if done.returncode:
            raise LabError(f"{tool} failed: {done.stderr.decode().strip()}")
        return [json.loads(line) for line in done.stdout.splitlines()]


class Unmounter:
    """A mount whose daemon is its own."""

    def __init__(self, mount):
        self.mount = mount

    def end(self):
        subprocess.run(["umount", "-l", self.mount], check=False)


class Qemu:
    """An installed QEMU."""

    def __init__(self, path):
        self.path = path
        out = subprocess.run([path, "--version"], stdout=subprocess.PIPE, check=False, timeout=60).stdout.decode()
        found = re.search(r"version (\d+)\.(\d+)\.(\d+)", out)
        if not found:
            raise LabError(f"'{path}' does not say its version")
        self.version = tuple(int(number) for number in found.groups())
        self.full = ".".join(found.groups())
        self.name = f"QEMU {self.version[0]}.{self.version[1]}"

    @property
    def has_bulk(self):
        """qom-list-get: 10.1 or later."""
        return self.version >= (10, 1)


def find_qemus():
    """Debian's, and those that QEMU= names; the newest last."""
    named = os.environ.get("QEMU")
    paths = named.split(":") if named else sorted(glob.glob("/opt/qemu-*/qemu-system-x86_64"))
    debian = shutil.which("qemu-system-x86_64")
    qemus = {}
    for path in ([debian] if debian else []) + [path for path in paths if path]:
        found = shutil.which(path)
        if not found:
            raise LabError(f"QEMU= names '{path}', which is no program")
        qemu = Qemu(found)
        qemus[qemu.version] = qemu
    return [qemus[version] for version in sorted(qemus)]
