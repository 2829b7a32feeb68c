#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: MIT
# timeout: 300
# builds: plain
"""The tools that people use, on every readable file of a recorded tree: all see the same bytes, and report the others.

What each must give is worked out from the dump's JSON; see expected.py.
"""

import io
import mmap
import os
import random
import re
import sys
import tarfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from crawl import crawl
from expected import objects, parse
from lib import Mount, check, equal, main, need, none, read_file, recorded, run, scratch, test

DUMP = recorded("qemu-7.2-pc")
TREE = objects(parse(read_file(DUMP).decode()))
FILES = {path: entry.content for path, entry in TREE.items() if entry.kind == "file" and entry.content is not None}
FILES.update({(path + b"/" if path else b"") + b".tree.json": entry.tree.encode() + b"\n"
              for path, entry in TREE.items() if entry.kind == "directory"})
UNREADABLE = [path for path, entry in TREE.items() if entry.kind == "file" and entry.content is None]
LINKS = {path: entry.target for path, entry in TREE.items() if entry.kind == "link"}
DIRECTORIES = [path for path, entry in TREE.items() if entry.kind == "directory"]
NAMES = sorted(FILES)
# what takes long is done with these: some of every length, the largest
SAMPLE = random.Random(1).sample(NAMES, 150) + sorted(NAMES, key=lambda name: len(FILES[name]))[-2:]


def mount():
    return Mount(DUMP)


def over_all(tool, where, wanted, names=None):
    """Runs a tool on all files, some hundred at a time; its output must be that of wanted(content, path) for each."""
    names = NAMES if names is None else names
    for at in range(0, len(names), 400):
        some = names[at : at + 400]
        result = run(*tool, *some, cwd=where)
        equal((result.returncode, result.stderr), (0, b""), f"{tool}: status, errors")
        pieces = [wanted(FILES[name], name) for name in some]
        if result.stdout != b"".join(pieces):
            offset = 0
            for name, piece in zip(some, pieces):
                equal(result.stdout[offset : offset + len(piece)], piece, f"{tool} {name!r}")
                offset += len(piece)
            equal(result.stdout[offset:], b"", f"{tool}: more output")


def whole(content, _):
    return content


@test("cat")
def cat():
    with mount() as m:
        over_all(["cat"], m.file("qom"), whole)


@test("busybox cat")
def busybox_cat():
    need("busybox")
    with mount() as m:
        over_all(["busybox", "cat"], m.file("qom"), whole)


@test("cat and busybox cat say which files cannot be read, and print the others")
def unreadable():
    need("busybox")
    check(UNREADABLE, "there are none in the dump")
    with mount() as m:
        for tool in (["cat"], ["busybox", "cat"], ["head", "-q", "-c", "999999"]):
            for path in UNREADABLE:
                good = os.path.join(os.path.dirname(path), b"type")
                result = run(*tool, good, path, good, cwd=m.file("qom"))
                equal((result.returncode, result.stdout), (1, 2 * FILES[good]), f"{tool}: status and output")
                check(b"Input/output error" in result.stderr or b"I/O error" in result.stderr, f"{result.stderr!r}")
                check(os.path.basename(path) in result.stderr, f"{tool} does not name it: {result.stderr!r}")


@test("tail -c: the whole, the last byte, from an offset")
def tail():
    with mount() as m:
        over_all(["tail", "-q", "-c", "1000000"], m.file("qom"), whole)
        over_all(["tail", "-q", "-c", "1"], m.file("qom"), lambda content, _: content[-1:])
        over_all(["tail", "-q", "-c", "5"], m.file("qom"), lambda content, _: content[-5:])
        over_all(["tail", "-q", "-c", "+3"], m.file("qom"), lambda content, _: content[2:])
        over_all(["tail", "-q", "-n", "1"], m.file("qom"), lambda content, _: content.splitlines(True)[-1])


@test("busybox tail -c")
def busybox_tail():
    need("busybox")
    with mount() as m:
        over_all(["busybox", "tail", "-q", "-c", "4"], m.file("qom"), lambda content, _: content[-4:])


@test("head -c")
def head():
    with mount() as m:
        over_all(["head", "-q", "-c", "1000000"], m.file("qom"), whole)
        over_all(["head", "-q", "-c", "7"], m.file("qom"), lambda content, _: content[:7])
        over_all(["head", "-q", "-c", "-2"], m.file("qom"), lambda content, _: content[:-2])


@test("wc -c counts bytes, by the size and by reading")
def wc():
    with mount() as m:
        result = run("wc", "-c", "--files0-from=-", cwd=m.file("qom"), input=b"\0".join(NAMES), stdin=None)
        wanted = b"".join(b"%d %s\n" % (len(FILES[name]), name) for name in NAMES)
        equal(re.sub(rb"(?m)^ +", b"", result.stdout)[: len(wanted)], wanted, "wc -c")
        for name in SAMPLE:
            result = run("sh", "-c", 'cat "$1" | wc -c', "sh", name, cwd=m.file("qom"))
            equal(int(result.stdout), len(FILES[name]), f"cat {name!r} | wc -c")


@test("dd bs=4096, dd bs=1, dd at an offset, dd past the end")
def dd():
    with mount() as m:
        for name in SAMPLE:
            content = FILES[name]
            source = b"if=" + os.path.join(os.fsencode(m.file("qom")), name)
            for arguments, wanted in ((["bs=4096"], content), (["bs=1"], content), (["bs=3", "skip=1"], content[3:]),
                                      (["bs=1", f"skip={len(content) - 1}"], content[-1:]),
                                      (["bs=1", f"skip={len(content)}"], b""), (["bs=4k", "iflag=fullblock"], content)):
                result = run("dd", source, *arguments, "status=none")
                equal((result.returncode, result.stdout, result.stderr), (0, wanted, b""), f"dd {name!r} {arguments}")


@test("pread at every offset, at the end, and past it")
def pread():
    with mount() as m:
        for name in SAMPLE[:-2]:
            content = FILES[name]
            descriptor = os.open(os.path.join(os.fsencode(m.file("qom")), name), os.O_RDONLY)
            for at in range(min(len(content) + 3, 300)):
                equal(os.pread(descriptor, 7, at), content[at : at + 7], f"{name!r} at {at}")
            end = len(content)
            for at in (end, end + 1, end + 4095, end + 4096, 1 << 31, 1 << 40, (1 << 63) - 9):
                equal(os.pread(descriptor, 8, at), b"", f"{name!r} at {at}, past the end")
            os.close(descriptor)


@test("cp of every file, then cmp; no NUL is added")
def cp():
    with mount() as m:
        folder = scratch()
        for number, name in enumerate(SAMPLE):
            copy = os.path.join(folder, str(number))
            result = run("cp", name, copy, cwd=m.file("qom"))
            equal((result.returncode, result.stderr), (0, b""), "cp")
            check(read_file(copy) == FILES[name], f"the copy of {name!r} differs")
            equal(run("cmp", name, copy, cwd=m.file("qom")).returncode, 0, f"cmp {name!r}")
        for name in UNREADABLE:
            result = run("cp", name, os.path.join(folder, "bad"), cwd=m.file("qom"))
            check(result.returncode == 1 and b"Input/output error" in result.stderr, f"cp {name!r}: {result}")


def check_copy(folder, what):
    """A copy of qom/ must have every readable file, every link, every directory, and no content for the rest."""
    folder = os.fsencode(folder)
    found = {}
    for where, directories, files in os.walk(folder):
        for name in directories + files:
            path = os.path.join(where, name)
            found[path[len(folder) + 1 :]] = path
    problems = [f"{name!r} is missing" for name in {*FILES, *LINKS, *DIRECTORIES} - {b""} - found.keys()]
    problems += [f"{name!r} came from nowhere" for name in found.keys() - {*FILES, *LINKS, *DIRECTORIES, *UNREADABLE}]
    for name in FILES.keys() & found.keys():
        if read_file(found[name]) != FILES[name]:
            problems.append(f"{name!r} differs")
    for name in LINKS.keys() & found.keys():
        target = os.path.join(folder, os.fsencode(LINKS[name].lstrip("/")))
        if not os.path.islink(found[name]) or os.path.realpath(found[name]) != os.path.realpath(target):
            problems.append(f"{name!r} is another link")
    for name in set(UNREADABLE) & found.keys():
        if os.path.getsize(found[name]):
            problems.append(f"{name!r} has content that was invented")
    none(problems, what)


@test("cp -r copies all that can be read, and reports the others")
def cp_r():
    with mount() as m:
        for tool in (["cp", "-r"], ["cp", "-a"], ["busybox", "cp", "-r"]):
            folder = scratch()
            result = run(*tool, m.file("qom"), folder)
            # the owner's directories of a dump are 0555: only root can copy into their copies as they are
            equal(result.returncode, 1, f"{tool}: {result.stderr!r}")
            for path in UNREADABLE:
                check(path in result.stderr, f"{tool} does not report {path!r}")
            check_copy(os.path.join(folder, "qom"), " ".join(tool))
            run("chmod", "-R", "u+w", folder)


@test("tar: every file whole, none padded, the others reported")
def tar():
    with mount() as m:
        result = run("tar", "-C", m.path, "-cf", "-", "qom")
        equal(result.returncode, 2, f"tar's status; it says {result.stderr!r}")
        for path in UNREADABLE:
            check(path in result.stderr, f"{path!r} is not reported")
        check(b"padding" not in result.stderr and b"shrank" not in result.stderr, f"tar says {result.stderr!r}")
        archive = tarfile.open(fileobj=io.BytesIO(result.stdout))
        members = {os.fsencode(member.name)[4:]: member for member in archive.getmembers()}
        equal(members.keys() - set(UNREADABLE), {*FILES, *LINKS, *DIRECTORIES}, "names in the archive")
        for name, content in FILES.items():
            check(archive.extractfile(members[name]).read() == content, f"{name!r} differs in the archive")
        for name in LINKS:
            check(members[name].issym(), f"{name!r} is no link in the archive")


@test("busybox tar")
def busybox_tar():
    need("busybox")
    with mount() as m:
        result = run("busybox", "tar", "-C", m.path, "-cf", "-", "qom")
        for path in UNREADABLE:
            check(os.path.basename(path) in result.stderr, f"{path!r} is not reported: {result.stderr!r}")
        archive = tarfile.open(fileobj=io.BytesIO(result.stdout))
        members = {os.fsencode(member.name)[4:]: member for member in archive.getmembers()}
        for name in NAMES:
            check(name in members and archive.extractfile(members[name]).read() == FILES[name], f"{name!r} differs")


@test("rsync -a, and a second run that finds nothing to do")
def rsync():
    need("rsync")
    with mount() as m:
        folder = scratch()
        result = run("rsync", "-a", m.path + "/qom", folder + "/")
        equal(result.returncode, 23, f"rsync's status (23: some could not be read); it says {result.stderr!r}")
        for path in UNREADABLE:
            check(path in result.stderr, f"{path!r} is not reported")
        check_copy(os.path.join(folder, "qom"), "rsync -a")
        again = run("rsync", "-ai", m.path + "/qom", folder + "/")
        changed = [line for line in again.stdout.splitlines() if not any(path in line for path in UNREADABLE)]
        equal(changed, [], "what the second run copies")


@test("grep -r finds every line that is there, and ends")
def grep():
    with mount() as m:
        result = run("grep", "-r", "-s", "-a", "", ".", cwd=m.file("qom"), timeout=20)
        found = {}
        for line in result.stdout.splitlines(True):
            path, _, text = line.partition(b":")
            # a name with a colon: take the longest that is a file
            while path[2:] not in FILES and b":" in text:
                more, _, text = text.partition(b":")
                path += b":" + more
            found.setdefault(path[2:], []).append(text)
        equal({name: b"".join(lines) for name, lines in found.items()} == FILES, True, "lines that grep -r '' prints")
        equal(result.returncode, 2, "grep's status (2: some could not be read)")
        loud = run("grep", "-r", "q35-machine", ".", cwd=m.file("qom"))
        for path in UNREADABLE:
            check(path in loud.stderr, f"{path!r} is not reported")


@test("find: every name once, of the right type, unreadable ones too")
def find():
    with mount() as m:
        for tool in ("find", "busybox find"):
            result = run(*tool.split(), ".", cwd=m.file("qom"))
            names = result.stdout.splitlines()
            wanted = [b"./" + name if name else b"." for name in (*FILES, *LINKS, *DIRECTORIES, *UNREADABLE)]
            equal((result.returncode, result.stderr), (0, b""), f"{tool}: status, errors")
            check(sorted(names) == sorted(wanted), f"{tool} lists other names")
        for kind, wanted in (("f", len(FILES) + len(UNREADABLE)), ("d", len(DIRECTORIES)), ("l", len(LINKS))):
            result = run("find", ".", "-type", kind, cwd=m.file("qom"))
            equal(len(result.stdout.splitlines()), wanted, f"find -type {kind}")


@test("diff -r of two mounts of one dump: equal; what cannot be read is reported")
def diff():
    with mount() as first, mount() as second:
        result = run("diff", "-r", "--no-dereference", first.file("qom"), second.file("qom"))
        equal((result.returncode, result.stdout), (2, b""), f"diff's status and output; {result.stderr!r}")
        lines = result.stderr.splitlines()
        for path in UNREADABLE:
            check(any(path in line for line in lines), f"{path!r} is not reported")
        equal(len(lines), 2 * len(UNREADABLE), "lines of errors")
    # and it sees a difference
    other = read_file(DUMP).replace(b'"value":"pc-i440fx-7.2-machine"', b'"value":"pc-i440fx-7.3-machine"')
    check(other != read_file(DUMP), "the dump has no such value")
    path = os.path.join(scratch(), "other.json")
    with open(path, "wb") as file:
        file.write(other)
    with mount() as first, Mount(path) as second:
        result = run("diff", "-rq", "--no-dereference", first.file("qom"), second.file("qom"))
        equal(len(result.stdout.splitlines()), 3, "files that differ: the property, its object's JSON, the root's")


@test("du: apparent sizes are those of the contents, blocks follow from them")
def du():
    with mount() as m:
        apparent = run("du", "-a", "--apparent-size", "-B1", ".", cwd=m.file("qom")).stdout
        blocks = run("du", "-a", "-B512", ".", cwd=m.file("qom")).stdout
        for output, unit in ((apparent, 1), (blocks, 512)):
            sizes = {line.partition(b"\t")[2][2:]: int(line.partition(b"\t")[0]) for line in output.splitlines()}
            for name, content in FILES.items():
                equal(sizes[name], -(-len(content) // unit), f"du of {name!r} in {unit}")
        total = int(run("du", "-s", "-B512", ".", cwd=m.file("qom")).stdout.split()[0])
        files = sum(-(-len(content) // 512) for content in FILES.values())
        check(files <= total <= files + len(DIRECTORIES) * 8 + len(LINKS), f"du -s: {total}, the files have {files}")


@test("stat prints size, blocks, type, mode, links of each")
def stat_tool():
    with mount() as m:
        over_all(["stat", "-c", "%s %b %B %F %a"], m.file("qom"),
                 lambda content, _: f"{len(content)} {-(-len(content) // 512)} 512 regular file 444\n".encode())
        result = run("stat", "-f", "-c", "%l %T %s", m.path)
        check(result.returncode == 0 and result.stdout.split()[0] == b"255", f"stat -f: {result.stdout!r}")
        equal(run("df", m.path).returncode, 0, "df")


@test("jq sees in the mount what it sees in the dump")
def jq():
    need("jq")
    with mount() as m:
        count = "[.. | objects | select(has(\"properties\"))] | length"
        equal(int(run("jq", count, m.file("qom", ".tree.json")).stdout), len(DIRECTORIES), "objects that jq counts")
        wanted = run("jq", "-S", ".", DUMP).stdout
        equal(run("jq", "-S", ".", m.file("qom", ".tree.json")).stdout, wanted, "jq's output")
        for path in DIRECTORIES[::20]:
            result = run("jq", "-er", ".name", os.path.join(os.fsencode(m.file("qom")), path, b".tree.json"))
            equal(result.stdout, (os.path.basename(path) or b"/") + b"\n", "names that jq prints")


@test("getfattr: the types, for all files in one run")
def getfattr():
    need("getfattr")
    with mount() as m:
        result = run("getfattr", "-R", "-P", "-n", "user.qom.type", ".", cwd=m.file("qom"))
        types = {}
        for block in result.stdout.split(b"\n\n"):
            match = re.match(rb'# file: (.*)\nuser.qom.type="(.*)"', block)
            if match:
                path = re.sub(rb"\\([0-7]{3})", lambda m: bytes([int(m.group(1), 8)]), match.group(1))
                types[b"" if path == b"." else path] = match.group(2).replace(b'\\"', b'"')
        wanted = {path: entry.qom_type.encode() for path, entry in TREE.items() if entry.qom_type is not None}
        equal({path: kind for path, kind in wanted.items() if types.get(path) != kind}, {}, "other types")
        everything = run("getfattr", "-R", "-P", "-d", "-m", "-", ".", cwd=m.file("qom"))
        equal(everything.stderr, b"", "errors of getfattr -d")
        equal(everything.stdout.count(b"user.qom.error="), len(UNREADABLE), "errors told")


@test("Python's mmap of every file")
def memory_map():
    with mount() as m:
        for name, content in FILES.items():
            with open(os.path.join(os.fsencode(m.file("qom")), name), "rb") as file:
                with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as memory:
                    check(memory[:] == content, f"{name!r} differs in memory")
                with mmap.mmap(file.fileno(), 0, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ) as memory:
                    check(memory[:] == content, f"{name!r} differs in private memory")


@test("Python's os.scandir, and the whole crawl once more after all caches are dropped")
def scandir():
    with mount() as m:
        for _ in range(2):
            if os.geteuid() == 0:
                with open("/proc/sys/vm/drop_caches", "w") as file:
                    file.write("3")
            result = crawl(m.file("qom"), TREE, os.stat(DUMP).st_mtime_ns)
            for aspect, problems in result.problems.items():
                none(problems, aspect)


@test("others: md5sum, sort, base64, od, sendfile")
def others():
    with mount() as m:
        folder = m.file("qom")
        copy = os.path.join(scratch(), "copy")
        sums = run("md5sum", *SAMPLE, cwd=folder).stdout
        for name in SAMPLE:
            with open(copy, "wb") as file:
                file.write(FILES[name])
            one = run("md5sum", copy).stdout.split()[0]
            check(one in sums, f"md5sum of {name!r}")
            with open(os.path.join(os.fsencode(folder), name), "rb") as source, open(copy, "wb") as target:
                while os.sendfile(target.fileno(), source.fileno(), None, 65536):
                    pass
            equal(read_file(copy), FILES[name], f"sendfile of {name!r}")
        for tool in (["sort"], ["base64", "-w0"], ["od", "-c"], ["busybox", "md5sum"]):
            with open(copy, "wb") as file:
                file.write(FILES[SAMPLE[-1]])
            got = run(*tool, SAMPLE[-1], cwd=folder)
            wanted = run(*tool, copy)
            equal(got.stdout.replace(SAMPLE[-1], b"X"), wanted.stdout.replace(copy.encode(), b"X"), " ".join(tool))


@test("seeking: SEEK_END, SEEK_DATA, SEEK_HOLE are those of a file without holes")
def seeking():
    with mount() as m:
        for name in SAMPLE[-40:]:
            descriptor = os.open(os.path.join(os.fsencode(m.file("qom")), name), os.O_RDONLY)
            length = len(FILES[name])
            equal(os.lseek(descriptor, 0, os.SEEK_END), length, "SEEK_END")
            equal(os.read(descriptor, 10), b"", "a read at the end")
            equal(os.lseek(descriptor, 0, os.SEEK_DATA), 0, "SEEK_DATA")
            equal(os.lseek(descriptor, 0, os.SEEK_HOLE), length, "SEEK_HOLE")
            equal(os.lseek(descriptor, -1, os.SEEK_END), length - 1, "SEEK_END -1")
            equal(os.read(descriptor, 10), FILES[name][-1:], "the last byte")
            os.close(descriptor)


main()
