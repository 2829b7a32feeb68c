#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: MIT
"""The companion socket of a mount: the link to it, the log of events, its end, and that whoever abuses it spoils nothing."""

import json
import os
import select
import socket
import stat
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "qmp"))
from lib import SLOW, Mount, check, equal, main, need, read_file, scratch, test, until
from peer import Peer

VALUE = ("qom", "objects", "iothread0", "poll-max-ns")


def socket_path():
    """Short enough for a socket, which a path in the scratch folder may not be."""
    return os.path.join(scratch("qmp"), "s")


def connect(mount):
    peer = Peer(os.readlink(mount.file("qmp")))
    peer.greet()
    return peer


def events_of(text):
    return [json.loads(line)["event"] for line in text.decode().splitlines()]


@test("qmp links to the socket, which only its owner can use; what it says is what the files say")
def link():
    with Mount(arguments=["--qmp=" + socket_path()]) as mount:
        status = os.stat(mount.file("qmp"))
        check(stat.S_ISSOCK(status.st_mode), "the link leads to no socket")
        equal(stat.S_IMODE(status.st_mode), 0o600, "its mode")
        peer = connect(mount)
        value = peer.call("qom-get", path="/objects/iothread0", property="poll-max-ns")
        equal(mount.read(*VALUE), b"%d\n" % value, "the file")
        peer.call("qom-set", path="/objects/iothread0", property="poll-max-ns", value=77)
        equal(mount.read(*VALUE), b"77\n", "the file once the reply has come")
        equal(peer.call("qom-tree-get", path="/objects"), json.loads(mount.read("qom", "objects", ".tree.json")), "tree")
        peer.close()
    with Mount(arguments=["--qmp=none"]) as mount:
        check("qmp" not in os.listdir(mount.path), "there is a link to no socket")


def follow(tail, event):
    """Reads what it prints until this event is there."""
    shown = b""
    while event not in shown and select.select([tail.stdout], [], [], 20 * SLOW)[0]:
        shown += os.read(tail.stdout.fileno(), 4096)
    check(b'"event":"' + event + b'"' in shown.replace(b" ", b""), f"tail -f shows {shown!r}")


@test("events grows with each event; poll wakes for it, tail -f shows it")
def events():
    need("tail")
    with Mount() as mount:
        peer = connect(mount)
        with open(mount.file("events"), "rb", buffering=0) as log:
            log.read()
            waiter = select.poll()
            waiter.register(log, select.POLLIN)
            equal(waiter.poll(200), [], "poll, before anything happens")
            tail = subprocess.Popen(["tail", "-n", "+1", "-f", mount.file("events")], stdout=subprocess.PIPE)
            try:
                peer.call("stop")
                equal([event for _, event in waiter.poll(10000 * SLOW)], [select.POLLIN], "poll, once the VM stopped")
                equal(events_of(log.read()), ["STOP"], "what was added")
                peer.call("cont")
                equal([event for _, event in waiter.poll(10000 * SLOW)], [select.POLLIN], "poll, once it runs")
                equal(events_of(log.read()), ["RESUME"], "what was added then")
                follow(tail, b"RESUME")
                peer.call("system_reset")
                follow(tail, b"RESET")
            finally:
                tail.kill()
                tail.wait()
                tail.stdout.close()
        size = os.stat(mount.file("events")).st_size
        equal(events_of(mount.read("events")), ["STOP", "RESUME", "RESET"], "the log in all")
        equal(size, len(mount.read("events")), "its size")
        peer.close()


@test("quit is answered and told to all, then the mount ends well")
def quits():
    mount = Mount()
    one, other = connect(mount), connect(mount)
    path = os.readlink(mount.file("qmp"))
    equal(one.call("quit"), {}, "the reply")
    message = other.message()
    equal((message["event"], message["data"]), ("SHUTDOWN", {"guest": False, "reason": "host-qmp-quit"}), "what others get")
    equal(other.message(), None, "what follows")
    mount.wait()
    check(not os.path.exists(path), "the socket is left")
    one.close()
    other.close()


class Abusers:
    """Clients that nobody wants."""

    def __init__(self, path):
        self.path = path
        self.silent, self.broken, self.noisy = (self.connect() for _ in range(3))
        self.silent.sendall(b'{"execute":"qmp_capabilities"}' + b'{"execute":"query-qmp-schema"}' * 500)  # and never reads
        self.broken.sendall(b'{"execute":"qom-get","arguments":{"pa')
        self.noisy.setblocking(False)

    def connect(self):
        client = socket.socket(socket.AF_UNIX)
        client.connect(self.path)
        return client

    def go_on(self):
        for client in [self.connect() for _ in range(10)]:
            client.sendall(b'{"execute":"qmp_capabilities"}{"execute":"query-qmp-schema"}')
            client.close()
        try:
            self.noisy.sendall(os.urandom(65536))
        except BlockingIOError:
            self.noisy.close()
            self.noisy = self.connect()
            self.noisy.setblocking(False)
        except OSError:
            self.noisy = self.connect()
            self.noisy.setblocking(False)

    def close(self):
        for client in self.silent, self.broken, self.noisy:
            client.close()


def memory_of(pid):
    (line,) = [line for line in read_file(f"/proc/{pid}/status").splitlines() if line.startswith(b"VmRSS")]
    return int(line.split()[1]) * 1024


@test("a client that never reads, one that dies in a message, garbage, connections that end at once: files and others do not notice")
def abuse():
    with Mount() as mount:
        peer = connect(mount)
        abusers = Abusers(os.readlink(mount.file("qmp")))
        times = {"the socket": [], "a file": [], "a tree": []}

        def timed(what, work):
            start = time.monotonic()
            result = work()
            times[what].append(time.monotonic() - start)
            return result

        def late():
            """What 95 of 100 answers took at most: on a busy machine single ones are late for other reasons."""
            for took in times.values():
                took.clear()
            for _ in range(100):
                abusers.go_on()
                status = timed("the socket", lambda: peer.call("query-status"))
                equal(status["status"], "running", "what a good client gets")
                text = timed("a file", lambda: mount.read(*VALUE))
                check(text.strip().isdigit(), f"a file says {text!r}")
                check(json.loads(timed("a tree", lambda: mount.read("qom", ".tree.json")))["children"], "no tree")
            return {what: sorted(took)[len(took) * 95 // 100] for what, took in times.items()}

        rounds = []
        while not rounds or max(rounds[-1].values()) >= 0.1 * SLOW:
            check(len(rounds) < 3, f"95 of 100 took up to these seconds, in three rounds: {rounds}")
            rounds.append(late())
        abusers.close()
        check(memory_of(mount.process.pid) < (400 << 20) * SLOW, f"{memory_of(mount.process.pid)} bytes of memory")
        late = connect(mount)
        equal(late.call("query-status")["status"], "running", "what a new client gets")
        late.close()
        peer.close()
        fds = f"/proc/{mount.process.pid}/fd"
        sockets = lambda: [fd for fd in os.listdir(fds) if os.readlink(f"{fds}/{fd}").startswith("socket:")]
        check(until(lambda: len(sockets()) <= 1), f"descriptors of clients are left: {len(sockets())}")


main()
