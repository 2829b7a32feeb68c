#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: MIT
"""Mount points: what is refused and how, and what a killed daemon left is repaired."""

import contextlib
import os
import re
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from lib import NOBODY, QOMFS, Failed, Mount, check, check_message, check_nothing_left, copy_for_all, equal
from lib import lazy_unmount, main, mounts_at, need, need_root, nobodys_run_time_dir, open_to_all, processes_of, qomfs
from lib import recorded, run, run_as_nobody, scratch, start_daemon, test, tests_for, until, write_file

DUMP = recorded("qemu-7.2-pc")
MODES = ((), ("-f",))


def refused(point, what="", *arguments, command=(QOMFS,), **more):
    """The message with which a mount point is refused; the same in the foreground and as a daemon."""
    before = mounts_at(point)
    errors = []
    for mode in MODES:
        result = run(*command, *mode, DUMP, point, *arguments, **more)
        errors.append(check_message(result, what))
        equal(mounts_at(point), before, "what is mounted there")
    equal(errors[0], errors[1], "messages of the daemon and of the foreground")
    return errors[0]


@test("one that does not exist")
def missing():
    point = os.path.join(scratch(), "nowhere")
    error = refused(point, point)
    check(re.search(r"[Nn]o such|not exist", error), f"it does not say why: {error!r}")
    check(not os.path.exists(point), "it was made")
    refused(point + "/deeper", "nowhere/deeper")
    os.symlink("nowhere", point + "2")
    refused(point + "2", "nowhere2")


@test("a file, a FIFO, a device")
def no_directory():
    path = write_file("content", "file")
    error = refused(path, path)
    check("irectory" in error, f"it does not say why: {error!r}")
    os.mkfifo(path + "-fifo")
    refused(path + "-fifo", "file-fifo")
    refused("/dev/null", "/dev/null")


@test("one that is not empty, unless -o nonempty")
def not_empty():
    point = scratch("full")
    with open(os.path.join(point, "mine"), "w", encoding="utf-8") as file:
        file.write("kept\n")
    error = refused(point, point)
    check("empty" in error, f"it does not say why: {error!r}")
    equal(os.listdir(point), ["mine"], "what is in it")
    with Mount(DUMP, point=point, options="nonempty") as mount:
        check("qom" in os.listdir(mount.path), "it is not mounted")
    equal(os.listdir(point), ["mine"], "what is in it")
    hidden = scratch("hidden")
    with open(os.path.join(hidden, ".only-hidden"), "w", encoding="utf-8"):
        pass
    refused(hidden, hidden)


@test("one where a mount of ours lives is refused, and goes on")
def live():
    with Mount(DUMP) as mount:
        error = refused(mount.path, mount.path)
        check("mount" in error, f"it does not say why: {error!r}")
        refused(mount.path, mount.path, "-o", "nonempty")
        equal(mount.read("qom", "type"), b"container\n", "the first mount")
        equal(len(mounts_at(mount.path)), 1, "mounts there")
        # by other names of it
        refused(mount.path + "/", mount.path)
        refused(os.path.join(os.path.dirname(mount.path), ".", os.path.basename(mount.path)), "mounted")
        link = os.path.join(scratch(), "link")
        os.symlink(mount.path, link)
        refused(link, "")
        equal(len(mounts_at(mount.path)), 1, "mounts there")


@test("one where another file system lives")
def other_file_system():
    need_root()
    point = scratch("tmpfs")
    equal(run("mount", "-t", "tmpfs", "tmpfs", point).returncode, 0, "mount -t tmpfs")
    try:
        # an empty one is a good mount point, as with any other file system
        with Mount(DUMP, point=os.path.join(point)) as mount:
            check(mount.read("qom", "type"), "nothing there")
    except Failed as error:
        check("tmpfs" in str(error) or "mounted" in str(error), f"refused without a reason: {error}")
    finally:
        lazy_unmount(point)


@test("one inside a mount of ours")
def inside():
    with Mount(DUMP) as mount:
        refused(mount.file("qom", "nothing"), "nothing")
        error = refused(mount.file("qom", "machine"), "machine")
        check("empty" in error, f"it does not say why: {error!r}")
        equal(mount.read("qom", "type"), b"container\n", "the first mount")


@test("a relative one, with blanks, quotes, commas, backslashes, newlines and non-ASCII in its name")
def odd_names():
    top = scratch()
    for name in ("plain", "with blank", "comma,ro,rw", "quote'\"", "back\\slash", "back\\040slash", "new\nline",
                 "tab\t", "grün 日本", "-o", "#hash", "a=b", "$(id)"):
        point = os.path.join(top, name)
        os.mkdir(point)
        relative = "./" + name if name.startswith("-") else name
        result = qomfs(DUMP, relative, cwd=top)
        equal((result.returncode, result.stderr), (0, b""), f"mount on {name!r}")
        equal(len(mounts_at(point)), 1, f"mounts at {name!r}")
        equal(open(os.path.join(point, "qom/type"), "rb").read(), b"container\n", "a file")
        check_message(qomfs(DUMP, relative, cwd=top), "")  # refused: it is live
        equal(len(mounts_at(point)), 1, f"mounts at {name!r}")
        equal(run("fusermount3", "-u", point).returncode, 0, "fusermount3 -u")
        check_nothing_left(point)


def daemon(point):
    return start_daemon(point, DUMP)


def kill(pid, point):
    os.kill(pid, signal.SIGKILL)
    check(until(lambda: not processes_of(point)), "the daemon outlives SIGKILL")
    equal(len(mounts_at(point)), 1, "mounts that it left")


@tests_for(MODES, "left over from a killed daemon: repaired by the next start, with {0}")
def left_over(mode):
    point = scratch("left")
    kill(daemon(point), point)
    if mode:
        with Mount(DUMP, point=point) as mount:
            equal(len(mounts_at(point)), 1, "mounts there: the dead one must be gone")
            check(mount.read("qom", "type"), "nothing there")
    else:
        daemon(point)
        equal(len(mounts_at(point)), 1, "mounts there: the dead one must be gone")
        equal(run("cat", f"{point}/qom/type").stdout, b"container\n", "a file")
        equal(run("fusermount3", "-u", point).returncode, 0, "fusermount3 -u")
    check_nothing_left(point)


@test("left over, while a file of the dead mount is open, a process stands in it, and its attributes are cached")
def left_over_in_use():
    point = scratch("left")
    pid = daemon(point)
    os.stat(f"{point}/qom/type")
    os.stat(point)
    descriptor = os.open(f"{point}/qom/type", os.O_RDONLY)
    folder = os.open(f"{point}/qom", os.O_RDONLY)
    kill(pid, point)
    with Mount(DUMP, point=point) as mount:
        equal(len(mounts_at(point)), 1, "mounts there")
        equal(mount.read("qom", "type"), b"container\n", "a file")
        os.close(descriptor)
        os.close(folder)
        equal(mount.read("qom", "type"), b"container\n", "a file, after the old ones are closed")
    check_nothing_left(point)


@test("twenty times killed and started again")
def again_and_again():
    point = scratch("left")
    for _ in range(20):
        kill(daemon(point), point)
    daemon(point)
    equal(len(mounts_at(point)), 1, "mounts there")
    equal(run("fusermount3", "-u", point).returncode, 0, "fusermount3 -u")
    check_nothing_left(point)


@test("a daemon that is stopped is not dead: refused, and not for ever")
def stopped():
    point = scratch("stopped")
    pid = daemon(point)
    os.kill(pid, signal.SIGSTOP)
    second = subprocess.Popen([QOMFS, DUMP, point], stderr=subprocess.PIPE)
    ended = until(lambda: second.poll() is not None)
    os.kill(pid, signal.SIGCONT)  # before anything else, or it cannot even be killed
    _, errors = second.communicate()
    check(ended, "it waits for the one that is stopped")
    check_message(subprocess.CompletedProcess((), second.returncode, b"", errors), point)
    equal(len(mounts_at(point)), 1, "mounts there")
    equal(run("cat", f"{point}/qom/type").stdout, b"container\n", "the first mount goes on")
    equal(run("fusermount3", "-u", point).returncode, 0, "fusermount3 -u")
    check_nothing_left(point)


@test("no permission for the mount point")
def no_permission():
    point = scratch("roots")
    open_to_all(point)
    result = run_as_nobody(copy_for_all(QOMFS), copy_for_all(DUMP), point)
    error = check_message(result, point if "/dev/fuse" not in result.stderr.decode() else "/dev/fuse")
    check("ermi" in error or "denied" in error, f"it does not say why: {error!r}")
    check_nothing_left(point)


def without_fuse(script):
    """Runs a shell script in a mount namespace of its own whose /dev has null, zero and so on, but no fuse."""
    need_root()
    need("unshare")
    prepare = """
        mount -t tmpfs tmpfs "$TMP/dev" && for name in null zero full random urandom tty; do
            cp -a /dev/$name "$TMP/dev/" || exit 99
        done && mount --move "$TMP/dev" /dev || exit 99
    """
    with contextlib.suppress(FileExistsError):
        os.mkdir(os.path.join(os.environ["TMP"], "dev"))
    arguments = copy_for_all(QOMFS), copy_for_all(DUMP)
    return run("unshare", "-m", "--propagation", "private", "sh", "-c", prepare + script, "sh", *arguments)


@tests_for(MODES, "/dev/fuse is missing, with {0}")
def fuse_missing(mode):
    point = scratch("point")
    result = without_fuse(f'exec "$1" {" ".join(mode)} "$2" {point}')
    check(result.returncode != 99, f"no such namespace: {result.stderr!r}")
    error = check_message(result, "/dev/fuse")
    check(re.search(r"[Nn]o such|missing|not exist|modprobe", error), f"it does not say why: {error!r}")
    check_nothing_left(point)


@test("/dev/fuse is no device that answers")
def fuse_wrong():
    point = scratch("point")
    for make in ("cp -a /dev/null /dev/fuse", ": > /dev/fuse", "mkdir /dev/fuse"):
        result = without_fuse(f'{make}; exec "$1" "$2" {point}')
        check(result.returncode != 99, f"no such namespace: {result.stderr!r}")
        check_message(result, "")
        check_nothing_left(point)


@test("/dev/fuse may not be opened by this user")
def fuse_forbidden():
    need("setpriv")
    point = scratch("point")
    open_to_all(point)
    os.chown(point, NOBODY, NOBODY)
    user = f"XDG_RUNTIME_DIR={nobodys_run_time_dir()} setpriv --reuid {NOBODY} --regid {NOBODY} --clear-groups"
    result = without_fuse(f'mknod -m 600 /dev/fuse c 10 229; {user} "$1" "$2" {point}')
    check(result.returncode != 99, f"no such namespace: {result.stderr!r}")
    error = check_message(result, "/dev/fuse")
    check("ermission denied" in error, f"it does not say why: {error!r}")
    check_nothing_left(point)


main()
