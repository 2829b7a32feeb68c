# SPDX-License-Identifier: MIT
"""What a mount of a dump must hold, worked out from the dump's JSON alone.

Numbers are kept as they are written, and a value remembers its text, so that files can be compared byte for byte. It
shares nothing with the program under test: it is the second opinion.
"""

import re
import sys

sys.setrecursionlimit(10000)  # dumps are deep

# ---- JSON that remembers its text ----

_SPACE = re.compile(r"[ \t\r\n]*")
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_OTHER = re.compile(r"-?[0-9][0-9.eE+-]*|true|false|null")
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)")
_SHORT = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}


class Json:
    """A JSON value: its compact text, and what is in it.

    content is the string, a list of Json, for an object a list of (name, Json), else (a number, true, ...) the text.
    """

    def __init__(self, kind, text, content):
        self.kind, self.text, self.content = kind, text, content

    def member(self, name):
        """The member of an object, or None."""
        return dict(self.content).get(name) if self.kind == "object" else None

    def names(self):
        return [name for name, _ in self.content]

    def same(self, other):
        """Whether two values are equal, numbers digit for digit, the order of members aside."""
        if self.kind != other.kind or self.kind == "other" or self.kind == "string":
            return self.kind == other.kind and self.content == other.content
        if len(self.content) != len(other.content):
            return False
        if self.kind == "list":
            return all(a.same(b) for a, b in zip(self.content, other.content))
        theirs = dict(other.content)
        return all(name in theirs and value.same(theirs[name]) for name, value in self.content)

    def file(self):
        """The content of a file that shows this value."""
        return (self.content if self.kind == "string" else self.text).encode() + b"\n"


def parse(text):
    """The Json of a text that is known to be good."""
    value, end = _parse(text, _SPACE.match(text, 0).end())
    if _SPACE.match(text, end).end() != len(text):
        raise ValueError(f"more text after the JSON, at {end}")
    return value


def _parse(text, at):
    if text[at] not in "{[":
        match = (_STRING if text[at] == '"' else _OTHER).match(text, at)
        token = match.group()
        if token[0] == '"':
            return Json("string", token, _decode(token)), match.end()
        return Json("other", token, token), match.end()
    opening = text[at]
    parts, content = [], []
    at = _SPACE.match(text, at + 1).end()
    while text[at] not in "}]":
        if content:
            at = _SPACE.match(text, _expect(text, at, ",")).end()
        value, at = _parse(text, at)
        at = _SPACE.match(text, at).end()
        if opening == "{":
            name, (value, at) = value, _parse(text, _SPACE.match(text, _expect(text, at, ":")).end())
            at = _SPACE.match(text, at).end()
            content.append((name.content, value))
            parts.append(f"{name.text}:{value.text}")
        else:
            content.append(value)
            parts.append(value.text)
    if opening == "{":
        return Json("object", "{" + ",".join(parts) + "}", content), at + 1
    return Json("list", "[" + ",".join(parts) + "]", content), at + 1


def _expect(text, at, character):
    if text[at] != character:
        raise ValueError(f"{character} expected at {at}")
    return at + 1


def _decode(token):
    def one(match):
        escape = match.group(1)
        return chr(int(escape[1:], 16)) if len(escape) == 5 else _SHORT.get(escape, escape)

    string = _ESCAPE.sub(one, token[1:-1])
    return string.encode("utf-16", "surrogatepass").decode("utf-16")  # joins the halves of pairs


# ---- names ----


def file_name(name):
    """The file name for a name, or None where it is shortened (which involves a hash)."""
    special = {"": "%", ".": "%2E", "..": "%2E%2E", ".tree.json": "%2Etree.json", "%": "%25"}
    shown = special.get(name)
    if shown is None:
        shown = re.sub(r"%(?=[0-9a-fA-F]{2}|~[0-9a-fA-F]{16}\Z)", "%25", name).replace("/", "%2F").replace("\0", "%00")
    shown = shown.encode()
    return shown if len(shown) <= 255 else None


# ---- the tree ----


class Entry:
    """One expected directory entry."""

    def __init__(self, kind, content=None, qom_type=None, target=None, links=(), tree=None, secret=False):
        self.kind = kind  # directory, file, link
        self.content = content  # bytes of a file; None: unreadable
        self.qom_type = qom_type  # the extended attribute, or None
        self.target = target  # of a link: the path of the object
        self.links = dict(links)  # of a directory: names and types of the links in it
        self.tree = tree  # of a directory: the text of its .tree.json
        self.secret = secret  # a file that must not be readable


def objects(tree, path=b"", secrets=False, out=None):
    """Expected entries below (and at) path for an object tree: {path: Entry}."""
    out = {} if out is None else out
    hidden = _is_secret(tree) and not secrets
    links = {}
    for info in tree.member("properties").content:
        name, kind = info.member("name").content, info.member("type").content
        shown, value = file_name(name), info.member("value")
        secret = hidden and name == "data"
        where = _join(path, shown)
        if kind.startswith("link<") and value is not None and value.kind == "string" and value.content:
            links[name] = kind
            out[where] = Entry("link", target=value.content)
        else:
            content = None if value is None or secret else value.file()
            out[where] = Entry("file", content, kind, secret=secret)
    children = tree.member("children").content
    for child in children:
        objects(child, _join(path, file_name(child.member("name").content)), secrets, out)
    out[path] = Entry("directory", qom_type=_type(tree), links=links, tree=object_text(tree, secrets))
    return out


def _type(tree):
    """The name of an object's type, or None."""
    for info in tree.member("properties").content:
        value = info.member("value")
        if info.member("name").content == "type" and value is not None and value.kind == "string":
            return value.content
    return None


def object_text(tree, secrets=False):
    """The text of an object's .tree.json, without the newline."""
    hidden = _is_secret(tree) and not secrets
    children = ",".join(object_text(child, secrets) for child in tree.member("children").content)
    properties = ",".join(
        _without_value(info).text if hidden and info.member("name").content == "data" else info.text
        for info in tree.member("properties").content
    )
    return f'{{"name":{tree.member("name").text},"children":[{children}],"properties":[{properties}]}}'


def _is_secret(tree):
    return _type(tree) in ("secret", "secret_keyring")


def _without_value(info):
    content = [(name, value) for name, value in info.content if name != "value"]
    text = ",".join(f'"{name}":{value.text}' for name, value in content)
    return Json("object", "{" + text + "}", content)


_NESTED = ("parent", "backing", "driver-specific")


def statistics(entry, path, out):
    """Expected entries for one disk of query-blockstats, at path."""
    members = [(name, value) for name, value in entry.content if name != "stats"]
    members += entry.member("stats").content if entry.member("stats") else []
    for name, value in members:
        where = _join(path, file_name(name))
        if name in _NESTED and value.kind == "object":
            statistics(value, where, out)
        else:
            out[where] = Entry("file", value.file())
    out[path] = Entry("directory", tree=entry.text)


def disk_names(entries):
    """The directories of query-blockstats: the component under /machine/peripheral, else a qdev without a slash, the
    device, the node, the index; a repeated name gets a number."""
    names = []
    for index, entry in enumerate(entries):
        text = {n: entry.member(n).content if entry.member(n) else "" for n in ("qdev", "device", "node-name")}
        peripheral = re.match(r"/machine/peripheral/([^/]+)", text["qdev"])
        name = peripheral.group(1) if peripheral else ""
        name = name or ("" if "/" in text["qdev"] else text["qdev"])
        name = name or text["device"] or text["node-name"] or str(index)
        plain, number = name, 1
        while name in names:
            number += 1
            name = f"{plain}.{number}"
        names.append(name)
    return [file_name(name) for name in names]


def blockstats(array, path=b"", out=None):
    out = {} if out is None else out
    for name, entry in zip(disk_names(array.content), array.content):
        statistics(entry, _join(path, name), out)
    out[path] = Entry("directory", tree=array.text)
    return out


def cpu_definitions(array, path=b"", out=None):
    out = {} if out is None else out
    for definition in array.content:
        where = _join(path, file_name(definition.member("name").content))
        for name, value in definition.content:
            out[_join(where, file_name(name))] = Entry("file", value.file())
        out[where] = Entry("directory", tree=definition.text)
    out[path] = Entry("directory", tree=array.text)
    return out


def _join(path, name):
    return path + b"/" + name if path else name
