#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: MIT
"""Setting properties of the built-in VM by writing to their files: what is set, what is refused, who learns of it."""

import collections
import errno
import json
import os
import re
import stat
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from lib import SLOW, Mount, check, equal, main, need, none, read_file, run, test, tests_for, write_file

NUMBER = ("qom", "objects", "iothread0", "poll-max-ns")
READ_ONLY = ("qom", "objects", "iothread0", "type")
SHELLS = ("bash", "dash", "busybox sh")


def shell(script, *arguments, program="sh"):
    return run(*program.split(), "-c", script, "sh", *arguments)


def value_in_json(mount, names=NUMBER):
    """The same property, as the .tree.json of its object and of the whole tree have it."""
    found = []
    for top in range(1, len(names)):
        tree = json.loads(mount.read(*names[:top], ".tree.json"))
        for name in names[top:-1]:
            (tree,) = [child for child in tree["children"] if child["name"] == name]
        (value,) = [info["value"] for info in tree["properties"] if info["name"] == names[-1]]
        found.append(value)
    equal(len(set(found)), 1, f"values in the .tree.json of {len(found)} directories: {found}")
    return found[0]


@tests_for(SHELLS, "{}: echo sets a number; the next reader sees it in the file and in each .tree.json above")
def sets(program):
    need(program.split()[0])
    with Mount() as mount:
        path = mount.file(*NUMBER)
        equal(stat.S_IMODE(os.stat(path).st_mode), 0o644, "its mode")
        for value in (4096, 0, 1234567890123460, 9223372036854775807, 7):
            before = os.stat(path).st_mtime_ns
            result = shell(f'echo {value} > "$1"', path, program=program)
            equal((result.returncode, result.stderr), (0, b""), f"echo {value}")
            equal(read_file(path), f"{value}\n".encode(), "the file")
            equal(os.stat(path).st_size, len(f"{value}\n"), "its size")
            check(os.stat(path).st_mtime_ns > before, "the mtime does not grow")
            equal(value_in_json(mount), value, "the JSON")


BAD = ("bad", "-1", "1.5", "1e3", "0x10", "9223372036854775808", "99999999999999999999999", '"5"', "[]", "{}", "true",
       "null", "5 5", "5x", "", " ")


@tests_for(SHELLS, "{}: a bad value is EINVAL, the shell's status 1, nothing is changed, user.qom.error tells why")
def refused(program):
    need(program.split()[0])
    with Mount() as mount:
        path = mount.file(*NUMBER)
        shell('echo 5 > "$1"', path)
        for value in BAD:
            status = os.stat(path)
            result = shell('printf "%s\\n" "$2" > "$1"', path, value, program=program)
            equal(result.returncode, 1, f"the shell's status for {value!r}")
            if program == "bash":  # the others do not say why
                check(b"nvalid argument" in result.stderr, f"{value!r}: it says {result.stderr!r}")
            equal(read_file(path), b"5\n", f"the value after {value!r}")
            equal(value_in_json(mount), 5, f"the JSON after {value!r}")
            equal(os.stat(path).st_mtime_ns, status.st_mtime_ns, "the mtime")
            reason = os.getxattr(path, "user.qom.error").decode()
            check("poll-max-ns" in reason and reason.isprintable(), f"user.qom.error is {reason!r}")
        shell('echo 6 > "$1"', path)
        try:
            check(False, f"user.qom.error after a good value: {os.getxattr(path, 'user.qom.error')!r}")
        except OSError as error:
            equal(error.errno, errno.ENODATA, "user.qom.error after a good value")


WAYS = {
    "without a newline": 'printf 4096 > "$1"',
    "blanks around": 'printf "  4096 \\n\\n" > "$1"',
    "tee": 'echo 4096 | tee "$1" > /dev/null',
    "cat": 'echo 4096 | cat > "$1"',
    "dd": 'echo 4096 | dd of="$1" status=none',
    "dd conv=notrunc": 'echo 4096 | dd of="$1" conv=notrunc status=none',
    "cp": 'cp "$2" "$1"',
    "busybox cp": 'busybox cp "$2" "$1"',
    "append": 'echo 4096 >> "$1"',
    "read and write": 'echo 4096 1<> "$1"',
    "/bin/echo": '/bin/echo 4096 > "$1"',
    "a here-document": 'cat > "$1" <<E\n4096\nE',
    "two writes": '(printf 40; printf 96) > "$1"',
    "four writes": 'for d in 4 0 9 6; do printf $d; done > "$1"',
    "a good one after another": '(echo 4096) > "$1"; : > "$1"; : >> "$1"; true > "$1"',
    "python": 'python3 -c "import sys; open(sys.argv[1], \'w\').write(\'4096\')" "$1"',
}


@tests_for(WAYS, "ways of writing 4096: {}")
def ways(name):
    with Mount() as mount:
        path = mount.file(*NUMBER)
        shell('echo 1 > "$1"', path)
        result = shell(WAYS[name], path, write_file("4096\n", "value"))
        equal((result.returncode, result.stderr), (0, b""), "status, errors")
        equal(read_file(path), b"4096\n", "the value")
        equal(value_in_json(mount), 4096, "the JSON")


NOTHING = {
    ": > prop": ': > "$1"',
    ": >> prop": ': >> "$1"',
    "truncate": 'truncate -s 0 "$1"',
    "an empty cat": 'cat /dev/null > "$1"',
    "cp of an empty file": 'cp /dev/null "$1"',
    "opened and closed": 'exec 3<> "$1"; exec 3>&-',
    "a subshell that writes nothing": '(:; :) > "$1"',
}


@tests_for(NOTHING, "what sets nothing: {}")
def nothing(name):
    with Mount() as mount:
        path = mount.file(*NUMBER)
        shell('echo 77 > "$1"', path)
        before = os.stat(path)
        result = shell(NOTHING[name], path)
        equal((result.returncode, result.stderr), (0, b""), "status, errors")
        equal((read_file(path), os.stat(path).st_size), (b"77\n", 3), "the value, its size")
        equal(os.stat(path).st_mtime_ns, before.st_mtime_ns, "the mtime")
        equal(value_in_json(mount), 77, "the JSON")


@test("a tool that looks at the result of its writes learns of a bad value: tee, cat, cp, dd, Python")
def tools_learn():
    with Mount() as mount:
        path = mount.file(*NUMBER)
        shell('echo 77 > "$1"', path)
        for script in ('echo bad | tee "$1"', 'echo bad | cat > "$1"', 'cp "$2" "$1"', 'dd if="$2" of="$1" status=none',
                       'python3 -c "import sys\nwith open(sys.argv[1], \'w\') as f: f.write(\'bad\')" "$1"'):
            result = shell(script, path, write_file("bad\n", "value"))
            check(result.returncode and b"nvalid argument" in result.stderr, f"{script}: {result}")
            equal(read_file(path), b"77\n", f"the value after {script}")


@test("a read-only property: mode 0444, EACCES at open, for root too, however it is opened")
def read_only():
    with Mount() as mount:
        path = mount.file(*READ_ONLY)
        equal(stat.S_IMODE(os.stat(path).st_mode), 0o444, "its mode")
        content = read_file(path)
        for flags in (os.O_WRONLY, os.O_RDWR, os.O_WRONLY | os.O_TRUNC, os.O_RDWR | os.O_TRUNC,
                      os.O_RDONLY | os.O_TRUNC, os.O_WRONLY | os.O_APPEND, os.O_WRONLY | os.O_CREAT):
            try:
                os.close(os.open(path, flags))
                check(False, f"open with flags {flags:o} succeeds")
            except OSError as error:
                equal(error.errno, errno.EACCES, f"open with flags {flags:o}")
        try:
            os.truncate(path, 0)
            check(False, "truncate succeeds")
        except OSError as error:
            check(error.errno in (errno.EACCES, errno.EPERM), f"truncate: {error}")
        result = shell('echo x > "$1"', path)
        check(result.returncode != 0 and b"ermission denied" in result.stderr, f"the shell says {result.stderr!r}")
        equal(read_file(path), content, "the value")
        for special in ((".tree.json",), ("qom", ".tree.json"), ("vm", "status")):
            result = shell('echo x > "$1"', mount.file(*special))
            check(result.returncode != 0, f"{special} can be written")


def writable(mount):
    """The paths of all properties that can be written."""
    paths = []
    for where, _, files in os.walk(mount.file("qom")):
        for name in files:
            path = os.path.join(where, name)
            if stat.S_IMODE(os.lstat(path).st_mode) & 0o200 and not os.path.islink(path):
                paths.append(path)
    return paths


@test("every writable property takes the value that it has, and still has it then; all others refuse")
def every_one():
    with Mount() as mount:
        paths = writable(mount)
        check(mount.file(*NUMBER) in paths and len(paths) > 3, f"there are {len(paths)} that can be written")
        problems = []
        for path in paths:
            before = read_file(path)
            try:
                with open(path, "wb", buffering=0) as file:
                    file.write(before)
            except OSError as error:
                problems.append(f"{path}: {before[:60]!r} is refused: {error.strerror}")
            if read_file(path) != before:
                problems.append(f"{path}: {before[:60]!r} has become {read_file(path)[:60]!r}")
        none(problems, "properties")


@test("booleans and strings: what is written is what is read")
def kinds():
    with Mount() as mount:
        seen = set()
        for path in writable(mount):
            before = read_file(path)
            if before in (b"true\n", b"false\n"):
                for value in ("false", "true"):
                    if shell('echo "$2" > "$1"', path, value).returncode == 0:
                        equal(read_file(path), value.encode() + b"\n", f"{path} after {value}")
                        seen.add("bool")
                result = shell('echo yes please > "$1"', path)
                check(result.returncode == 1, f"{path} takes 'yes please'")
        check("bool" in seen, "there is no boolean that can be written")


@test("changes of the tree itself are refused, and leave it as it is")
def structure():
    with Mount() as mount:
        before = sorted(os.listdir(mount.file("qom", "objects")))
        folder, path = mount.file("qom", "objects"), mount.file(*NUMBER)
        attempts = {
            "create": lambda: os.close(os.open(folder + "/new", os.O_CREAT | os.O_WRONLY)),
            "mkdir": lambda: os.mkdir(folder + "/new"),
            "mknod": lambda: os.mknod(folder + "/new", stat.S_IFREG | 0o600),
            "mkfifo": lambda: os.mkfifo(folder + "/new"),
            "symlink": lambda: os.symlink("x", folder + "/new"),
            "link": lambda: os.link(path, folder + "/new"),
            "unlink": lambda: os.unlink(path),
            "rmdir": lambda: os.rmdir(os.path.dirname(path)),
            "rename": lambda: os.rename(path, path + "2"),
            "chmod": lambda: os.chmod(path, 0o777),
            "chown": lambda: os.chown(path, 1, 1),
            "setxattr": lambda: os.setxattr(path, "user.qom.type", b"x"),
            "setxattr of another": lambda: os.setxattr(path, "user.mine", b"x"),
            "removexattr": lambda: os.removexattr(path, "user.qom.type"),
        }
        good = {errno.EPERM, errno.EACCES, errno.EROFS, errno.EOPNOTSUPP}
        problems = []
        for name, attempt in attempts.items():
            try:
                attempt()
                problems.append(f"{name} succeeds")
            except OSError as error:
                if error.errno not in good:
                    problems.append(f"{name}: {error}")
        none(problems, "changes")
        equal(sorted(os.listdir(folder)), before, "the names")
        check(read_file(path), "the file is gone")


@test("-o ro: EROFS")
def mounted_read_only():
    with Mount(options="ro") as mount:
        before = mount.read(*NUMBER)
        try:
            os.close(os.open(mount.file(*NUMBER), os.O_WRONLY))
            check(False, "it can be opened")
        except OSError as error:
            equal(error.errno, errno.EROFS, "open")
        equal(mount.read(*NUMBER), before, "the value")


@test("what echo has set is what the very next reader sees, 300 times, in the file and in qom/.tree.json")
def at_once():
    with Mount() as mount:
        path = mount.file(*NUMBER)
        for i in range(300):
            value = b"%d" % (10 ** (i % 17) + i)  # lengths change as well
            with open(path, "wb", buffering=0) as file:
                file.write(value)
            equal(read_file(path), value + b"\n", f"the file in round {i}")
            entry = re.compile(rb'{"name":"poll-max-ns",[^}]*"value":' + value + b"}")
            for where in (("qom", "objects", "iothread0"), ("qom",), ()):
                check(entry.search(mount.read(*where, ".tree.json")), f"the JSON of {where}, round {i}")


@test("a .tree.json that is open stays as it was, to its end")
def open_tree():
    with Mount() as mount:
        shell('echo 1 > "$1"', mount.file(*NUMBER))
        before = mount.read("qom", "objects", ".tree.json")
        with open(mount.file("qom", "objects", ".tree.json"), "rb", buffering=0) as file:
            start = file.read(20)
            shell('echo 123456789 > "$1"', mount.file(*NUMBER))
            size = os.fstat(file.fileno()).st_size
            equal(start + file.readall(), before, "the open file")
            equal(size, len(before), "its size")
        check(b"123456789" in mount.read("qom", "objects", ".tree.json"), "a new one does not show the new value")


@test("a property that is open stays as it was, to its end, when it becomes longer or shorter")
def open_property():
    with Mount() as mount:
        path = mount.file(*NUMBER)
        for old, new in (("1", "123456789012345"), ("123456789012345", "1"), ("1111", "2222")):
            shell('echo "$2" > "$1"', path, old)
            with open(path, "rb", buffering=0) as file:
                start = file.read(1)
                shell('echo "$2" > "$1"', path, new)
                rest = file.readall()
            equal(start + rest, old.encode() + b"\n", f"the open file, {old} -> {new}")
            equal(read_file(path), new.encode() + b"\n", "opened anew")


@test("while a writer has truncated the file and not written yet, and while it writes, readers see the value, whole")
def truncated():
    with Mount() as mount:
        path = mount.file(*NUMBER)
        shell('echo 4096 > "$1"', path)
        reader = os.open(path, os.O_RDONLY)
        writer = os.open(path, os.O_WRONLY | os.O_TRUNC)
        equal(os.pread(reader, 100, 0), b"4096\n", "what was open before")
        equal((os.stat(path).st_size, read_file(path)), (5, b"4096\n"), "the size, what is opened anew")
        os.write(writer, b"123456789")
        check(os.pread(reader, 100, 0) in (b"4096\n", b"123456789\n"), f"open: {os.pread(reader, 100, 0)!r}")
        equal((os.stat(path).st_size, read_file(path)), (10, b"123456789\n"), "the size, what is opened anew")
        os.close(writer)
        os.close(reader)


@test("a writer that writes more bytes than the value has leaves nothing behind it")
def longer_text():
    with Mount() as mount:
        path = mount.file(*NUMBER)
        for text in (b"     7      \n\n\n", b"7", b"      7", b"7\n", b"            7"):
            reader = os.open(path, os.O_RDONLY)
            before = os.pread(reader, 100, 0)
            with open(path, "r+b", buffering=0) as file:
                file.write(text)
            check(os.pread(reader, 100, 0) in (before, b"7\n"), f"open: {os.pread(reader, 100, 0)!r}")
            os.close(reader)
            equal((os.stat(path).st_size, read_file(path)), (2, b"7\n"), f"the file after {text!r}")


@test("writers and readers at the same time: none fails, readers see values that were written, whole")
def writers():
    with Mount() as mount:
        path = mount.file(*NUMBER)
        shell('echo 1 > "$1"', path)
        problems, counts, end = collections.Counter(), collections.Counter(), time.monotonic() + 3

        def write(value):
            descriptor = os.open(path, os.O_WRONLY | os.O_TRUNC)
            try:
                os.write(descriptor, value)
            finally:
                os.close(descriptor)

        def read():
            got = read_file(path)
            # each value is some number of ones
            if got.strip(b"1") != b"\n" or not got.startswith(b"1"):
                problems[f"read {got!r}"] += 1

        def work(what, *arguments):
            while time.monotonic() < end:
                counts[what.__name__] += 1
                try:
                    what(*arguments)
                except OSError as error:
                    problems[f"{what.__name__}: {error.strerror}"] += 1

        threads = [threading.Thread(target=work, args=(write, b"1" * length)) for length in (1, 3, 7, 18)]
        threads += [threading.Thread(target=work, args=(read,)) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        none([f"{count} times: {what}" for what, count in problems.items()], "what went wrong")
        check(min(counts["write"], counts["read"]) > 300 / SLOW, f"little was done: {counts}")


@test("a value of more than a pipe, of more than any limit")
def long_values():
    with Mount() as mount:
        path = mount.file(*NUMBER)
        shell('echo 5 > "$1"', path)
        for length in (5000, 100000, 3000000):
            try:
                with open(path, "wb", buffering=0) as file:
                    file.write(b"9" * length)
                check(False, f"{length} digits are taken")
            except OSError as error:
                check(error.errno in (errno.EINVAL, errno.EFBIG, errno.E2BIG), f"{length} digits: {error}")
            equal(read_file(path), b"5\n", f"the value after {length} digits")
        # far behind the end: nothing that could be a value
        descriptor = os.open(path, os.O_WRONLY)
        try:
            os.pwrite(descriptor, b"7", 1 << 40)
            check(False, "a write at 1 TiB succeeds")
        except OSError as error:
            check(error.errno in (errno.EINVAL, errno.EFBIG), f"a write at 1 TiB: {error}")
        finally:
            try:
                os.close(descriptor)
            except OSError:
                pass
        equal(read_file(path), b"5\n", "the value after a write far behind")


main()
