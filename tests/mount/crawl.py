# SPDX-License-Identifier: MIT
"""Compares a directory of a mount with what is expected of it: every name, every byte, every attribute, in both
directions. Each aspect has its list of problems, and counts what it compared, so that a comparison that never took
place is seen too.
"""

import errno
import os
import stat

ASPECTS = (
    "names",  # both have the same, of the same kind
    "values",  # content of files
    "unreadable",  # properties without value: EIO, and a reason; secrets: EACCES
    "trees",  # .tree.json
    "links",  # symlinks lead where the property says, relative, inside the mount
    "sizes",  # st_size is the length of the content, st_blocks follows from it
    "inodes",  # d_ino is st_ino, no number stands for two things
    "times",  # mtime
    "owners",  # uid, gid, permissions
    "attributes",  # extended ones
)


class Crawl:
    """The result of crawl(): problems and counts by aspect."""

    def __init__(self):
        self.problems = {aspect: [] for aspect in ASPECTS}
        self.counts = dict.fromkeys(ASPECTS, 0)

    def compare(self, aspect, path, good, message):
        self.counts[aspect] += 1
        if not good:
            self.problems[aspect].append(f"{path.decode(errors='backslashreplace')!r}: {message}")


def crawl(root, expected, mtime_ns=None, file_modes=(0o444,), owner=None):
    """Compares the directory root with the expected entries (see expected.py). mtime_ns, owner: None: not compared."""
    root = os.fsencode(root)
    result = Crawl()
    found = _walk(root, result)
    wanted = dict(expected)
    for path, entry in expected.items():
        if entry.kind == "directory":
            wanted[path + b"/.tree.json" if path else b".tree.json"] = None
    for path in sorted(wanted.keys() - found.keys()):
        result.compare("names", path, False, "is missing")
    for path in sorted(found.keys() - wanted.keys()):
        result.compare("names", path, False, "is not expected")
    numbers = {}
    for path in sorted(found.keys() & wanted.keys()):
        entry, status = wanted[path], found[path]
        where = os.path.join(root, path) if path else root
        kind = {None: "file"}.get(entry, entry and entry.kind)
        shown = _kind(status.st_mode)
        result.compare("names", path, shown == kind, f"is a {shown}, not a {kind}")
        other = numbers.setdefault(status.st_ino, path)
        result.compare("inodes", path, other is path and status.st_ino, f"inode {status.st_ino} is also {other!r}'s")
        if shown != kind:
            continue
        _compare_status(result, path, status, mtime_ns, file_modes, owner)
        if entry is None:
            _compare_tree(result, where, path, expected[os.path.dirname(path)].tree, status)
        elif kind == "file":
            _compare_file(result, where, path, entry, status)
        elif kind == "link":
            _compare_link(result, where, path, entry, root)
        else:
            _compare_directory(result, where, path, entry)
    return result


def _walk(root, result):
    """{path: stat} of everything below root, and of root itself under b""."""
    found = {b"": os.stat(root)}
    pending = [b""]
    while pending:
        directory = pending.pop()
        names = set()
        with os.scandir(os.path.join(root, directory)) as entries:
            for entry in entries:
                path = directory + b"/" + entry.name if directory else entry.name
                result.compare("names", path, entry.name not in names, "is listed twice")
                names.add(entry.name)
                found[path] = status = os.lstat(entry.path)
                result.compare("inodes", path, entry.inode() == status.st_ino,
                               f"is listed as inode {entry.inode()}, and is {status.st_ino}")
                if entry.is_dir(follow_symlinks=False):
                    pending.append(path)
    return found


def _kind(mode):
    if stat.S_ISDIR(mode):
        return "directory"
    return "link" if stat.S_ISLNK(mode) else "file" if stat.S_ISREG(mode) else f"thing of mode {mode:o}"


def _compare_status(result, path, status, mtime_ns, file_modes, owner):
    if mtime_ns is not None:
        result.compare("times", path, status.st_mtime_ns == mtime_ns, f"mtime {status.st_mtime_ns}, not {mtime_ns}")
    if owner is not None:
        result.compare("owners", path, (status.st_uid, status.st_gid) == owner,
                       f"owner {status.st_uid}:{status.st_gid}")
    mode = stat.S_IMODE(status.st_mode)
    if stat.S_ISREG(status.st_mode):
        result.compare("owners", path, mode in file_modes, f"mode {mode:o}")
    elif stat.S_ISDIR(status.st_mode):
        result.compare("owners", path, mode == 0o555, f"mode {mode:o}")


def _compare_size(result, path, status, length):
    blocks = (length + 511) // 512
    result.compare("sizes", path, status.st_size == length, f"size {status.st_size} of {length} bytes")
    result.compare("sizes", path, status.st_blocks == blocks, f"{status.st_blocks} blocks for {length} bytes")


def _compare_tree(result, where, path, tree, status):
    content = _read(where)
    wanted = tree.encode() + b"\n"
    result.compare("trees", path, content == wanted, f"differs {_first_difference(content, wanted)}")
    _compare_size(result, path, status, len(wanted))


def _compare_file(result, where, path, entry, status):
    content = _read(where)
    if entry.content is None:
        number = errno.EACCES if entry.secret else errno.EIO
        result.compare("unreadable", path, content == number, f"reads {content!r}, not error {number}")
        if not entry.secret:
            reason = _attribute(where, b"user.qom.error")
            good = isinstance(reason, bytes) and reason and not any(byte < 32 or byte == 127 for byte in reason)
            result.compare("unreadable", path, good, f"user.qom.error is {reason!r}")
    else:
        result.compare("values", path, content == entry.content, f"differs {_first_difference(content, entry.content)}")
        _compare_size(result, path, status, len(entry.content))
        reason = _attribute(where, b"user.qom.error")
        result.compare("attributes", path, reason == errno.ENODATA, f"user.qom.error is {reason!r}")
    _compare_type(result, where, path, entry.qom_type)
    listed = _attributes(where)
    has_type = entry.qom_type is not None
    result.compare("attributes", path, (b"user.qom.type" in listed) == has_type, f"lists {listed!r}")
    _compare_others(result, where, path, listed)


def _compare_link(result, where, path, entry, root):
    text = os.readlink(where)
    wanted = os.path.realpath(os.path.join(root, os.fsencode(entry.target.lstrip("/"))))
    result.compare("links", path, not text.startswith(b"/"), f"is absolute: {text!r}")
    result.compare("links", path, os.path.isdir(where), f"leads to no directory: {text!r}")
    result.compare("links", path, os.path.realpath(where) == wanted, f"leads to {os.path.realpath(where)!r}")
    result.compare("links", path, os.lstat(where).st_size == len(text), "its size is not the length of its text")


def _compare_directory(result, where, path, entry):
    _compare_type(result, where, path, entry.qom_type)
    listed = _attributes(where)
    for name, kind in entry.links.items():
        attribute = b"user.qom.type." + os.fsencode(name)
        value = _attribute(where, attribute)
        result.compare("attributes", path, value == kind.encode(), f"{attribute!r} is {value!r}, not {kind!r}")
        result.compare("attributes", path, attribute in listed, f"{attribute!r} is not listed")
    _compare_others(result, where, path, listed)


def _compare_type(result, where, path, qom_type):
    value = _attribute(where, b"user.qom.type")
    wanted = errno.ENODATA if qom_type is None else qom_type.encode()
    result.compare("attributes", path, value == wanted, f"user.qom.type is {value!r}, not {wanted!r}")


def _compare_others(result, where, path, listed):
    """What is listed can be read; what is not of user. has no answer (so that ls stops asking)."""
    for name in listed:
        value = _attribute(where, name)
        result.compare("attributes", path, isinstance(value, bytes) and name.startswith(b"user.qom."),
                       f"{name!r} is listed, and gives {value!r}")
    for name, wanted in ((b"security.selinux", errno.EOPNOTSUPP), (b"user.other", errno.ENODATA)):
        value = _attribute(where, name)
        result.compare("attributes", path, value == wanted, f"{name!r} gives {value!r}")


def _read(where):
    """The content of a file, or an error number."""
    try:
        with open(where, "rb", buffering=0) as file:
            return file.readall()
    except OSError as error:
        return error.errno


def _attribute(where, name):
    """An extended attribute, or an error number."""
    try:
        return os.getxattr(where, name, follow_symlinks=False)
    except OSError as error:
        return error.errno


def _attributes(where):
    try:
        return [os.fsencode(name) for name in os.listxattr(where, follow_symlinks=False)]
    except OSError as error:
        return [f"error {error.errno}".encode()]


def _first_difference(content, wanted):
    if isinstance(content, int):
        return f"(error {content}, not {wanted[:60]!r})"
    at = next((i for i, (a, b) in enumerate(zip(content, wanted)) if a != b), min(len(content), len(wanted)))
    return f"at byte {at}: {content[at:at + 60]!r}, not {wanted[at:at + 60]!r}"
