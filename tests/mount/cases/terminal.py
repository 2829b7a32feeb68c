#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: MIT
"""less in a terminal: shows the start, the end, and ends."""

import os
import pty
import re
import select
import signal
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from lib import SLOW, Mount, check, equal, json, kind_of, main, need, obj, prop, recorded, test, write_file


class Terminal:
    """A program in a terminal of its own."""

    def __init__(self, *command):
        self.pid, self.descriptor = pty.fork()
        if self.pid == 0:
            os.environ.update(TERM="xterm", LINES="24", COLUMNS="80", LESSHISTFILE="-", LESS="")
            os.execvp(command[0], command)
        self.output = b""

    def type(self, keys):
        os.write(self.descriptor, keys.encode())

    def shows(self, text, seconds=10):
        """Whether text appears on the screen, from what was looked at last."""
        end = time.monotonic() + seconds * SLOW
        while time.monotonic() < end:
            shown = re.sub(rb"\x1b\[[0-9;?]*[a-zA-Z]|\x1b[=>]|[\r\n\x08]", b"", self.output)
            if text.encode() in shown:
                self.output = b""
                return True
            if select.select([self.descriptor], [], [], 0.1)[0]:
                try:
                    self.output += os.read(self.descriptor, 65536)
                except OSError:
                    return text.encode() in shown
        return False

    def end(self, seconds=10):
        """The status with which it ends; it is killed where it does not."""
        stop = time.monotonic() + seconds * SLOW
        while time.monotonic() < stop:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                return os.waitstatus_to_exitcode(status)
            if select.select([self.descriptor], [], [], 0.05)[0]:
                try:
                    os.read(self.descriptor, 65536)
                except OSError:
                    pass
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        return None


@test("less shows a property, and ends with q")
def short():
    need("less")
    with Mount(recorded("qemu-7.2-pc")) as mount:
        terminal = Terminal("less", mount.file("qom", "machine", "type"))
        check(terminal.shows("pc-i440fx-7.2-machine"), "the value does not appear")
        terminal.type("q")
        equal(terminal.end(), 0, "less's status")


@test("less shows both ends of a long .tree.json, searches in it, and reads it anew with R")
def long():
    need("less")
    with Mount(recorded("qemu-7.2-pc")) as mount:
        terminal = Terminal("less", "-S", mount.file("qom", ".tree.json"))
        check(terminal.shows('{"name":"/","children":['), "the start does not appear")
        terminal.type("R")
        check(terminal.shows('{"name":"/","children":['), "the start does not appear after R")
        terminal.type("q")
        equal(terminal.end(), 0, "less's status")
    lines = "\n".join(f"line {i} of the text" for i in range(5000))
    with Mount(write_file(obj("/", kind_of("x"), prop("text", json.dumps(lines))))) as mount:
        terminal = Terminal("less", mount.file("qom", "text"))
        check(terminal.shows("line 3 of the text"), "the start does not appear")
        terminal.type("G")
        check(terminal.shows("line 4999 of the text"), "the end does not appear")
        terminal.type("g/line 2500 of\n")
        check(terminal.shows("line 2501 of the text"), "what was searched does not appear")
        terminal.type("q")
        equal(terminal.end(), 0, "less's status")


@test("less of what cannot be read says so")
def unreadable():
    need("less")
    with Mount(write_file(obj("/", prop("broken", None, "x")))) as mount:
        terminal = Terminal("less", mount.file("qom", "broken"))
        check(terminal.shows("nput/output error"), "no error appears")
        terminal.type("q")
        check(terminal.end() is not None, "less does not end")


main()
