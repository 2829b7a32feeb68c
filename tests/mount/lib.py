# SPDX-License-Identifier: MIT
"""What the mount cases in Python share: reporting in TAP, running the binary, mounting, looking at what is left.

A case is a list of functions marked @test and a call of main(). Each function is one line of TAP; it fails by any
exception, most of them raised by check() and equal(). See tests/README.md for the variables that a case gets.
"""

import contextlib
import errno
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback

from crawl import crawl
from expected import objects, parse

QOMFS = os.path.realpath(os.environ["QOMFS"])
SOURCE = os.environ["SOURCE"]
DATA = os.path.join(SOURCE, "tests", "data")
KIND = os.environ.get("KIND", "plain")
# How much longer than on a plain build anything may take.
SLOW = {"plain": 1, "asan": 3, "tsan": 10}[KIND]
# How much longer the times are that a case waits through, a time-out say. What answers at once is faster than the shortest.
PACE = {"plain": 1, "asan": 1.5, "tsan": 2}[KIND]
AT_ONCE = 1.5
RECORDED = ("qemu-11.1-q35-rich", "qemu-11.1-pc", "qemu-7.2-q35-rich", "qemu-7.2-pc")

# ---- reporting ----


class Failed(Exception):
    """What was looked at is not as it must be."""


class Skipped(Exception):
    """This machine cannot do it."""


def check(condition, message):
    if not condition:
        raise Failed(message)


def equal(got, wanted, what):
    if got != wanted:
        raise Failed(f"{what}\n     got: {shorten(got)}\n  wanted: {shorten(wanted)}")


def none(problems, what):
    """Fails with the first few of a list of problems."""
    problems = list(problems)
    if problems:
        raise Failed("\n".join([f"{what}: {len(problems)} problems"] + [f"  {p}" for p in problems[:10]]))


def shorten(value):
    text = repr(value)
    return text if len(text) <= 400 else f"{text[:200]} ... {text[-150:]} ({len(text)} characters)"


def skip(reason):
    raise Skipped(reason)


def need(*tools):
    for tool in tools:
        if shutil.which(tool) is None:
            skip(f"{tool} is not installed")


def need_root():
    if os.geteuid() != 0:
        skip("only root can do this")


_tests = []


def test(name):
    """Marks a function as a test of this name."""

    def add(function):
        _tests.append((name, function))
        return function

    return add


def tests_for(things, name):
    """Marks a function with one argument as one test for each of the things; name has {} for the thing."""

    def add(function):
        for thing in things:
            _tests.append((name.format(thing), lambda thing=thing: function(thing)))
        return function

    return add


def main():
    print(f"1..{len(_tests)}", flush=True)
    failures = 0
    for number, (name, function) in enumerate(_tests, 1):
        try:
            function()
            print(f"ok {number} - {name}", flush=True)
        except Skipped as reason:
            print(f"ok {number} - {name} # SKIP {reason}", flush=True)
        except Exception as error:  # a broken test is a failed test
            failures += 1
            print(f"not ok {number} - {name}")
            text = str(error) if isinstance(error, Failed) else traceback.format_exc()
            for line in text.encode("utf-8", "backslashreplace").decode().splitlines():
                print(f"# {line}")
            sys.stdout.flush()
        finally:
            for mount in list(_mounted):
                mount.destroy()
            destroy_daemons()
    sys.exit(1 if failures else 0)


# ---- running things ----


def scratch(name="d"):
    """A new empty directory in the scratch folder."""
    return tempfile.mkdtemp(prefix=name + "-", dir=os.environ["TMP"])


def open_to_all(*paths):
    """Lets other users reach these paths of the scratch folder, and read what they lead to."""
    for path in paths:
        while path.startswith(os.environ["TMP"]):
            os.chmod(path, os.stat(path).st_mode | 0o555)
            path = os.path.dirname(path)
        if os.path.basename(path).startswith("qomfs-test-"):  # what the runner made around it
            os.chmod(path, os.stat(path).st_mode | 0o011)


NOBODY = 65534


def nobodys_run_time_dir():
    """Where the programs of the user nobody may put their sockets."""
    path = scratch("run")
    open_to_all(os.path.dirname(path))
    os.chown(path, NOBODY, NOBODY)
    return path


def run_as_nobody(*command, **more):
    """Runs a command as a user who has nothing; only root can."""
    need_root()
    environment = {**os.environ, "XDG_RUNTIME_DIR": nobodys_run_time_dir()}
    return run(*command, user=NOBODY, group=NOBODY, extra_groups=[], env=environment, **more)


def copy_for_all(path):
    """A copy that other users can reach, wherever the original is."""
    copy = shutil.copy(path, scratch("copy"))
    open_to_all(copy)
    return copy


def write_file(content, name="dump.json"):
    """A new file in a directory of its own, with text or bytes as content."""
    path = os.path.join(scratch(), name)
    with open(path, "wb") as file:
        file.write(content.encode() if isinstance(content, str) else content)
    return path


def read_file(path):
    with open(path, "rb") as file:
        return file.read()


def run(*command, timeout=60, **more):
    """Runs a command to its end with its output captured; fails where it takes too long, or keeps its output open."""
    more = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **more}
    try:
        return subprocess.run(command, timeout=timeout * SLOW, check=False, **more)
    except subprocess.TimeoutExpired:
        raise Failed(f"not done after {timeout * SLOW} s: {shorten(command)}") from None


def qomfs(*arguments, **more):
    return run(QOMFS, *arguments, **more)


def check_message(result, what, status=1):
    """A command has failed with this status, and one line of text on standard error, without control characters, that
    begins with the program's name and has what in it. Returns the line."""
    error = result.stderr.decode("utf-8", "strict")
    check(result.returncode == status, f"status {result.returncode}, not {status}; it says {error!r}")
    check(error.count("\n") == 1 and error.endswith("\n") and error.startswith("qomfs: "), f"no single line: {error!r}")
    bad = [c for c in error[:-1] if ord(c) < 32 or 127 <= ord(c) < 160 or c in "\u2028\u2029\u202e"]
    equal(bad, [], f"control characters in {error!r}")
    check(20 < len(error) < 1000, f"a line of {len(error)} characters: {error[:100]!r}")
    check(what in error, f"{what!r} is not in {error!r}")
    equal(result.stdout, b"", "standard output")
    return error


def until(condition, seconds=30):
    """Waits until condition() is true, and returns what it gave last. The time is generous: only a failure takes it."""
    end = time.monotonic() + seconds * SLOW
    while True:
        result = condition()
        if result or time.monotonic() > end:
            return result
        time.sleep(0.01)


def timed(function, *arguments):
    """(seconds, result, or the name of the error)"""
    begin = time.monotonic()
    try:
        result = function(*arguments)
    except OSError as error:
        result = errno.errorcode[error.errno]
    return time.monotonic() - begin, result


def prompt(function, *arguments):
    """The result of what must come at once. A busy machine may be late: the best of three counts."""
    for _ in range(3):
        seconds, result = timed(function, *arguments)
        if seconds < AT_ONCE:
            return result
    raise Failed(f"three times it took {AT_ONCE} s or more: {shorten(arguments)}")


# ---- what is mounted, what runs ----


def mounts_at(point):
    """The mounts that stand on a directory, in order: (type, source, options of the mount and of the file system)."""
    found = []
    with open("/proc/self/mountinfo", "rb") as file:
        for line in file:
            left, right = line.rstrip(b"\n").split(b" - ", 1)
            fields, (kind, source, options) = left.split(b" "), right.split(b" ", 2)
            if _unescape(fields[4]) == os.fsencode(point):
                found.append((kind.decode(), _unescape(source), fields[5].decode() + "," + options.decode()))
    return found


def _unescape(field):
    """mountinfo writes blanks, tabs, newlines, backslashes as \\ooo."""
    parts = field.split(b"\\")
    return parts[0] + b"".join(bytes([int(part[:3], 8)]) + part[3:] for part in parts[1:])


def processes_of(point):
    """The processes, other than this one, whose command line names a directory."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            if int(pid) != os.getpid() and os.fsencode(point) in read_file(f"/proc/{pid}/cmdline"):
                if read_file(f"/proc/{pid}/stat").rpartition(b")")[2].split()[0] != b"Z":
                    found.append(int(pid))
    return found


def check_nothing_left(point):
    """No mount, no process (a daemon may need a moment), and the directory as it was: empty."""
    check(until(lambda: not processes_of(point)), f"processes are left: {processes_of(point)}")
    equal(mounts_at(point), [], "a mount is left")
    equal(os.listdir(point), [], "files are left in the mount point")


def lazy_unmount(point):
    """Gets rid of whatever is mounted on a directory, dead or alive."""
    while mounts_at(point):
        if run("umount", "-l", point).returncode and run("fusermount3", "-uz", point).returncode:
            return


# ---- mounting ----

_mounted = []


class Mount:
    """A mount in the foreground, by the binary under test: with Mount(dump) as m: ... os.listdir(m.path).

    At the end it is told to stop, and must do so with status 0, in silence, and leave nothing behind.
    """

    def __init__(self, *source, options=None, point=None, arguments=()):
        self.path = point or scratch("mount")
        command = [QOMFS, "-f", *source, self.path, *arguments]
        if options:
            command += ["-o", options]
        self.errors = tempfile.TemporaryFile(dir=os.environ["TMP"])
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=self.errors, stderr=self.errors)
        _mounted.append(self)
        if not until(lambda: self.ended() or self.answers(), 30) or self.ended():
            message = self.messages()
            self.destroy()
            raise Failed(f"{shorten(command)} does not mount: status {self.process.poll()}, {message!r}")

    def ended(self):
        return self.process.poll() is not None

    def answers(self):
        """Whether the topmost mount is ours and alive; it may stand on another, or on a dead one."""
        if not [kind for kind, _, _ in mounts_at(self.path)][-1:] == ["fuse.qomfs"]:
            return False
        try:
            return bool(os.statvfs(self.path))
        except OSError:  # a dead one, which the daemon is about to clear away
            return False

    def messages(self):
        self.errors.seek(0)
        return self.errors.read().decode(errors="backslashreplace")

    def file(self, *names):
        return os.path.join(self.path, *names)

    def read(self, *names):
        return read_file(self.file(*names))

    def stop(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        self.wait()

    def wait(self):
        """Waits for the process to end by itself, and looks at how it did."""
        try:
            status = self.process.wait(20 * SLOW)
        except subprocess.TimeoutExpired:
            self.destroy()
            raise Failed("the mount does not end") from None
        _mounted.remove(self)
        message = self.messages()
        mounted = mounts_at(self.path)
        self.errors.close()
        lazy_unmount(self.path)
        equal((status, message), (0, ""), "how the mount ended (status, messages)")
        equal(mounted, [], "a mount is left")

    def destroy(self):
        """For when something is wrong already."""
        if self in _mounted:
            _mounted.remove(self)
        self.process.kill()
        lazy_unmount(self.path)
        with contextlib.suppress(subprocess.TimeoutExpired):  # one that waits for its own mount cannot be killed
            self.process.wait(5)

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        if kind is not None:
            self.destroy()
        elif self in _mounted:
            self.stop()


_daemon_points = []


def start_daemon(point, *arguments):
    """Mounts as a daemon; returns its process id."""
    _daemon_points.append(point)
    result = qomfs(*arguments, point)
    equal((result.returncode, result.stdout, result.stderr), (0, b"", b""), "how the daemon starts")
    pids = processes_of(point)
    equal(len(pids), 1, "processes of the daemon")
    return pids[0]


def destroy_daemons():
    """Ends what failed tests have left running."""
    while _daemon_points:
        point = _daemon_points.pop()
        for pid in processes_of(point):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        lazy_unmount(point)


# ---- dumps ----


def obj(name, *properties, children=()):
    """The text of an object; properties are texts made by prop(), children by obj()."""
    return f'{{"name":{json.dumps(name)},"children":[{",".join(children)}],"properties":[{",".join(properties)}]}}'


def prop(name, value, kind="string"):
    """The text of a property; value is JSON text, or None where it cannot be read."""
    shown = "" if value is None else f',"value":{value}'
    return f'{{"name":{json.dumps(name)},"type":{json.dumps(kind)}{shown}}}'


def kind_of(name):
    """The property that tells an object's type."""
    return prop("type", json.dumps(name))


def check_tree(dump, mount, secrets=False):
    """Crawls qom/ of the mount of a dump (a path), which is compact; fails at the first aspect that has problems."""
    text = read_file(dump).decode()
    result = crawl(mount.file("qom"), objects(parse(text), secrets=secrets), os.stat(dump).st_mtime_ns)
    for aspect, problems in result.problems.items():
        none(problems, aspect)
    return result


def recorded(name):
    """The path of a recorded object tree."""
    return os.path.join(DATA, name + ".tree.json")


def recorded_views(name, kind="default"):
    """The texts of what else was recorded of that machine: its CPU definitions, its block statistics (kind: "default"
    or "query-nodes")."""
    version = name.split("-")[1]
    definitions = read_file(os.path.join(DATA, f"qemu-{version}.cpu-definitions.json")).decode().strip()
    statistics = parse(read_file(os.path.join(DATA, name + ".blockstats.json")).decode())
    return definitions, statistics.member(kind).text


def root_dump(name, kind="default", more=""):
    """The text of a root's .tree.json, put together from what was recorded."""
    tree = read_file(recorded(name)).decode().strip()
    definitions, statistics = recorded_views(name, kind)
    return f'{{"qom":{tree},"cpu-definitions":{definitions},"blockstats":{statistics}{more}}}\n'
