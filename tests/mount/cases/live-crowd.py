#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: MIT
# timeout: 120
# builds: plain
# slow
"""All kinds of readers of a running QEMU at once, through the mount, its companion socket with --share, and whole trees: each
goes on, and the main loop gives them no more than `duty`."""

import errno
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from lib import Mount, check, main, none, skip, tests_for, until
from qemus import RICH, VERSIONS, Qemu
from readers import Readers
from peer import Peer  # which qemus has made known
from processes import innermost

DUTY = 5  # percent, the default
SECONDS = 3
TRIES = 3  # on a busy machine a moment may be unlike the others
SETTLE_SECONDS = 2  # what may be saved up is used by then
POLLERS = 10
TOLERANCE = 1.4  # QEMU does something beside, and commands of --share are the clients' own


def main_loop_seconds(qemu):
    pid = innermost(qemu.process.pid)
    with open(f"/proc/{pid}/task/{pid}/schedstat", encoding="ascii") as file:
        return int(file.read().split()[0]) / 1e9


def files_below(folder):
    return [os.path.join(top, name) for top, _, names in os.walk(folder) for name in names
            if name != ".tree.json" and not os.path.islink(os.path.join(top, name))]


def read(path, tries=3):
    try:
        with open(path, "rb") as file:
            file.read()
    except PermissionError:  # a secret
        pass
    except OSError as error:
        if error.errno != errno.EIO:
            raise
        try:
            os.getxattr(path, "user.qom.error")  # what QEMU cannot read it says of itself
        except OSError:  # another reader's fetch came in between, and it can be read now
            if tries == 1:
                raise
            read(path, tries - 1)


@tests_for(VERSIONS or ["none"], "QEMU {}: a crowd of readers is served, each of them, within the share of the main loop")
def crowd(version):
    if not VERSIONS:
        skip("no QEMU is installed")
    with Qemu(version, *RICH) as qemu, Mount(qemu.target, options=f"duty={DUTY}",
                                             arguments=["--share", f"--qmp={qemu.folder}/companion"]) as mount:
        paths = files_below(mount.file("qom", "machine"))
        turn = iter(paths * 1000)
        clients = [Peer(f"{qemu.folder}/companion", patience=60) for _ in range(2)]
        for client in clients:
            client.greet()
        readers = Readers()
        readers.add("files", lambda: read(next(turn)))
        readers.add("tree", lambda: mount.read("qom", ".tree.json"))
        for number in range(POLLERS):
            readers.add(f"poller {number}", lambda: mount.read("blockstats", ".tree.json"), 0.1)
        readers.add("query", lambda: mount.read("query", "status.json"), 0.1)
        for number, client in enumerate(clients):
            readers.add(f"shared {number}", lambda client=client: client.call("query-status"), 0.2)
        with readers:
            time.sleep(SETTLE_SECONDS)
            used = []
            while not used or len(used) < TRIES and used[-1] >= DUTY * TOLERANCE:
                before, began = main_loop_seconds(qemu), time.monotonic()
                time.sleep(SECONDS)
                used.append((main_loop_seconds(qemu) - before) / (time.monotonic() - began) * 100)
            until(lambda: all(readers.done.values()) or readers.failures, 60)
            done = dict(readers.done)
        for client in clients:
            client.close()
        none(readers.failures, "readers that failed")
        check(all(done.values()), f"some starve: {done}")
        check(used[-1] < DUTY * TOLERANCE, f"{used} % of the main loop, of {DUTY}: {done}")


main()
