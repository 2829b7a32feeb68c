#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: MIT
# timeout: 180
"""From the start to the end of a mount: the daemon, the foreground, signals, unmounting, and what is left: nothing."""

import json
import os
import random
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from lib import QOMFS, SLOW, Mount, check, check_nothing_left, equal, kind_of, lazy_unmount, main, mounts_at, obj
from lib import processes_of, prop, qomfs, read_file, recorded, run, scratch, start_daemon, test, tests_for, until
from lib import write_file

DUMP = recorded("qemu-7.2-pc")


def unmount(point):
    """As a user does it; an access of another process (an indexer, say) is waited for."""
    result = until(lambda: (r := run("fusermount3", "-u", point)).returncode == 0 and r)
    check(result, "fusermount3 -u fails")
    check_nothing_left(point)


@test("the daemon returns when the mount answers, and not before")
def answers():
    # what takes a while to read
    objects = [obj(f"o{i}", kind_of("x"), *(prop(f"p{j}", str(j), "int") for j in range(100))) for i in range(2000)]
    big = write_file(obj("/", children=objects))
    for dump, rounds in ((big, 3), (DUMP, 20)):
        for _ in range(rounds):
            point = scratch("mount")
            start_daemon(point, dump)
            equal(len(mounts_at(point)), 1, "mounts at the return of the daemon")
            content = read_file(os.path.join(point, "qom", ".tree.json"))
            check(json.loads(content)["name"] == "/" and content.endswith(b"\n"), "the tree is not there")
            unmount(point)


@test("the daemon lets go of its terminal: input, output, errors, session, working directory")
def detached():
    point, folder = scratch("mount"), scratch("cwd")
    process = subprocess.Popen([QOMFS, DUMP, point], cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT)
    output, _ = process.communicate(timeout=20 * SLOW)  # ends only when all writers are gone
    equal((process.returncode, output), (0, b""), "how the daemon starts")
    (pid,) = processes_of(point)
    equal(os.readlink(f"/proc/{pid}/cwd"), "/", "its working directory")
    equal([os.readlink(f"/proc/{pid}/fd/{n}") for n in (0, 1, 2)], ["/dev/null"] * 3, "its first descriptors")
    fields = read_file(f"/proc/{pid}/stat").rpartition(b")")[2].split()
    check(int(fields[3]) != os.getsid(0) and int(fields[4]) == 0, "it is in our session, or has a terminal")
    os.rmdir(folder)
    unmount(point)


@test("paths may be relative to where it was started, for the daemon too")
def relative():
    folder = scratch()
    name = os.path.basename(folder) + ".json"  # that no other process names
    os.symlink(DUMP, os.path.join(folder, name))
    point = os.path.join(folder, "m")
    os.mkdir(point)
    result = qomfs(name, "m", cwd=folder)
    equal((result.returncode, result.stderr), (0, b""), "the start")
    check(read_file(os.path.join(point, "qom", "type")), "nothing there")
    unmount(point)
    check(until(lambda: not processes_of(name)), "it stays")


@test("in the foreground it says nothing and stays until it is told")
def foreground():
    with Mount(DUMP) as mount:
        equal(len(mounts_at(mount.path)), 1, "mounts")
        time.sleep(0.2)
        check(not mount.ended(), "it ended")


SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


@tests_for(SIGNALS, "{0.name}: unmounts, status 0, nothing is left")
def signals(number):
    mount = Mount(DUMP)
    check(mount.read("qom", "type"), "nothing there")
    mount.stop(number)
    check_nothing_left(mount.path)
    point = scratch("mount")
    os.kill(start_daemon(point, DUMP), number)
    check_nothing_left(point)


@tests_for(SIGNALS[:2], "{0.name} while files and directories are open, and readers read")
def signals_in_use(number):
    mount = Mount(recorded("qemu-11.1-q35-rich"))
    file = os.open(mount.file("qom", ".tree.json"), os.O_RDONLY)
    folder = os.open(mount.file("qom"), os.O_RDONLY)
    script = 'while cat "$1"/qom/.tree.json "$1"/qom/machine/type; do :; done'
    reader = subprocess.Popen(["sh", "-c", script, "sh", mount.path], stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL)
    time.sleep(0.3)
    mount.process.send_signal(number)
    equal(mount.process.wait(20 * SLOW), 0, "its status")
    os.close(file)
    os.close(folder)
    reader.wait(20 * SLOW)  # ends at the first file that is gone
    mount.wait()
    check_nothing_left(mount.path)


@test("a second signal while it ends does no harm")
def two_signals():
    for _ in range(10):
        mount = Mount(DUMP)
        mount.process.send_signal(signal.SIGTERM)
        mount.process.send_signal(signal.SIGTERM)
        mount.process.send_signal(signal.SIGINT)
        mount.wait()
        check_nothing_left(mount.path)


@test("SIGPIPE, SIGCHLD, SIGWINCH, SIGCONT change nothing")
def other_signals():
    with Mount(DUMP) as mount:
        for number in (signal.SIGPIPE, signal.SIGCHLD, signal.SIGWINCH, signal.SIGCONT):
            mount.process.send_signal(number)
        time.sleep(0.1)
        check(mount.read("qom", "type") and not mount.ended(), "it ended")


@test("a signal at any moment of the start leaves no mount and no process")
def signals_at_start():
    rounds = 60
    chance = random.Random(7)
    for number in range(rounds):
        point = scratch("mount")
        process = subprocess.Popen([QOMFS, "-f", recorded("qemu-11.1-q35-rich"), point], stderr=subprocess.PIPE)
        time.sleep(chance.random() * 0.06 * SLOW)
        process.send_signal(SIGNALS[number % 2])
        try:
            _, errors = process.communicate(timeout=20 * SLOW)
        except subprocess.TimeoutExpired:
            process.kill()
            lazy_unmount(point)
            check(False, "it does not end")
        left = mounts_at(point)
        lazy_unmount(point)
        equal(left, [], f"what is left when it was stopped, with status {process.returncode}, saying {errors!r}")
        check(process.returncode in (0, -signal.SIGTERM, -signal.SIGINT), f"status {process.returncode}")


@test("a signal, or an unmount, as soon as the mount is there")
def ended_at_once():
    for number in range(60):
        point = scratch("mount")
        process = subprocess.Popen([QOMFS, "-f", DUMP, point], stderr=subprocess.PIPE)
        while not mounts_at(point) and process.poll() is None:
            pass
        if number % 3 == 0:
            run("fusermount3", "-uz", point)
        else:
            process.send_signal(SIGNALS[number % 3])
        try:
            _, errors = process.communicate(timeout=10 * SLOW)
        except subprocess.TimeoutExpired:
            process.kill()
            lazy_unmount(point)
            check(False, f"round {number}: it does not end")
        left = mounts_at(point)
        lazy_unmount(point)
        equal((process.returncode, errors, left), (0, b"", []), f"round {number}: status, messages, mounts")


@test("fusermount3 -u, umount: the foreground ends with status 0")
def unmounted():
    commands = [("fusermount3", "-u"), ("fusermount3", "-uz")]
    if os.geteuid() == 0:
        commands += [("umount",), ("umount", "-l"), ("umount", "-f")]
    for command in commands:
        mount = Mount(DUMP)
        equal(run(*command, mount.path).returncode, 0, f"{command}")
        mount.wait()
        check_nothing_left(mount.path)


@test("fusermount3 -u is refused while a file is open, and the mount goes on")
def busy():
    with Mount(DUMP) as mount:
        with open(mount.file("qom", "type"), "rb") as file:
            equal(run("fusermount3", "-u", mount.path).returncode, 1, "fusermount3 -u")
            equal(file.read(), b"container\n", "the open file")
        equal(mount.read("qom", "type"), b"container\n", "the mount")


@test("after a lazy unmount, what is open is served to its end, then the process ends")
def lazy():
    mount = Mount(DUMP)
    file = os.open(mount.file("qom", ".tree.json"), os.O_RDONLY)
    equal(len(os.read(file, 100)), 100, "bytes read")
    equal(run("fusermount3", "-uz", mount.path).returncode, 0, "fusermount3 -uz")
    check(os.read(file, 1 << 20) == read_file(DUMP)[100:], "the rest differs")
    check(not mount.ended(), "it ended while a file was open")
    os.close(file)
    mount.wait()
    check_nothing_left(mount.path)


@test("unmounted twice, stopped twice: the second time finds nothing to do")
def twice():
    point = scratch("mount")
    start_daemon(point, DUMP)
    unmount(point)
    check(run("fusermount3", "-u", point).returncode != 0, "there is something to unmount")
    start_daemon(point, DUMP)
    unmount(point)


@test("the dump may be changed, replaced and removed while it is mounted")
def dump_changes():
    content = read_file(DUMP)
    path = write_file(content)
    with Mount(path) as mount:
        with open(path, "r+b") as file:
            file.write(b"X" * 50000)
        check(mount.read("qom", ".tree.json") == content, "the tree differs after the dump was overwritten")
        os.truncate(path, 0)
        check(mount.read("qom", ".tree.json") == content, "the tree differs after the dump was truncated")
        os.unlink(path)
        check(mount.read("qom", ".tree.json") == content, "the tree differs after the dump was removed")
        check(run("grep", "-rs", "qemu64", mount.file("qom")).stdout, "grep finds nothing")


@test("descriptors: the daemon starts with none of 0, 1, 2 open, or with many more")
def descriptors():
    for redirect in ("<&- >&- 2>&-", "<&-", ">&-", "2>&-", "9>&2 8>/dev/null"):
        point = scratch("mount")
        equal(run("sh", "-c", f'"$1" "$2" "$3" {redirect}', "sh", QOMFS, DUMP, point).returncode, 0, redirect)
        check(read_file(os.path.join(point, "qom", ".tree.json")) == read_file(DUMP), f"{redirect}: the tree differs")
        unmount(point)


def thread_states(pid):
    tasks = f"/proc/{pid}/task"
    return {read_file(f"{tasks}/{task}/stat").rpartition(b")")[2].split()[0] for task in os.listdir(tasks)}


@test("stopped with SIGSTOP: readers wait, can be interrupted, and go on after SIGCONT")
def stopped():
    with Mount(DUMP) as mount:
        # the names are known from now on: a look-up of an unknown one holds its directory, and cannot be interrupted
        check(mount.read("qom", "machine", "type"), "nothing there")
        mount.process.send_signal(signal.SIGSTOP)
        # a thread that is still about to stop could take a request with it, which nothing interrupts then
        check(until(lambda: thread_states(mount.process.pid) == {b"T"}), "it does not stop")
        reader = subprocess.Popen(["cat", mount.file("qom", "machine", "type")], stdout=subprocess.PIPE)
        victim = subprocess.Popen(["cat", mount.file("qom", "machine", "type")], stdout=subprocess.PIPE)
        time.sleep(0.2)
        victim.kill()
        victim.wait(5 * SLOW)
        victim.stdout.close()
        mount.process.send_signal(signal.SIGCONT)
        equal(reader.communicate(timeout=10 * SLOW)[0], b"pc-i440fx-7.2-machine\n", "what the reader read")


@test("an empty environment will do")
def no_environment():
    point = scratch("mount")
    result = run(QOMFS, DUMP, point, env={})
    equal((result.returncode, result.stderr), (0, b""), "the start")
    unmount(point)


@test("many mounts of one dump at once")
def many():
    points = [scratch("mount") for _ in range(10)]
    starts = [subprocess.Popen([QOMFS, DUMP, point]) for point in points]
    equal([start.wait(30 * SLOW) for start in starts], [0] * 10, "the starts")
    for point in points:
        check(read_file(os.path.join(point, "qom", ".tree.json")) == read_file(DUMP), "the tree differs")
    for point in points:
        unmount(point)


@test("two starts on one mount point at the same time: one mounts, the other is refused")
def race():
    for _ in range(10):
        point = scratch("mount")
        starts = [subprocess.Popen([QOMFS, DUMP, point], stderr=subprocess.PIPE) for _ in range(4)]
        statuses = sorted(start.wait(30 * SLOW) for start in starts)
        for start in starts:
            start.stderr.close()
        count = len(mounts_at(point))
        equal((statuses, count), ([0, 1, 1, 1], 1), "statuses, mounts")
        unmount(point)


main()
