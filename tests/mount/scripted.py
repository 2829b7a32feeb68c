# SPDX-License-Identifier: MIT
"""A QEMU that is scripted: it has the objects that a test gives it, notes what it is asked, and misbehaves on request.

    with Scripted() as qemu, Mount(qemu.path) as mount:
        qemu.objects["/machine"].values["n"] = 5
        mount.read("qom/machine/n")            b"5\\n"
        qemu.asked("qom-get")                  the arguments of each
"""

import contextlib
import json
import os
import socket
import tempfile
import threading
import time


class Unreadable:
    """In the place of a value: why it cannot be read."""

    def __init__(self, words):
        self.words = words


class Thing:
    """An object: its type, its values by name (types where it matters), and the names of its children."""

    def __init__(self, kind, types=None, **values):
        self.kind, self.values, self.types = kind, {"type": kind, **values}, dict(types or {})
        self.children = []

    def type_of(self, name):
        value = self.values[name]
        usual = "bool" if isinstance(value, bool) else "int" if isinstance(value, int) else "string"
        return self.types.get(name, usual)


NOT_FOUND = {"class": "DeviceNotFound", "desc": "Device not found"}
NO_COMMAND = {"class": "CommandNotFound", "desc": "The command has not been found"}


def generic(words):
    return {"class": "GenericError", "desc": words}


class Scripted:
    def __init__(self, bulk=True, version=(11, 1, 0), capabilities=("oob",)):
        self.bulk, self.version, self.capabilities = bulk, version, list(capabilities)
        self.objects = {}
        self.lock = threading.Lock()  # of the objects, while somebody looks at them or changes which there are
        self.add("/", Thing("container"))
        self.add("/machine", Thing("scripted-machine", n=1, flag=True, text="a b"))
        self.add("/machine/peripheral", Thing("container"))
        self.add("/objects", Thing("container"))
        self.replies = {
            "query-name": {"name": "scripted"},
            "query-uuid": {"UUID": "5c1efbf4-0000-4000-8000-000000000001"},
            "query-status": {"status": "running", "running": True},
            "query-cpu-definitions": [{"name": "one-cpu", "static": False}],
            "query-blockstats": [],
            "query-kvm": {"enabled": False, "present": False},
        }
        self.log = []  # (command, arguments), as they came
        self.event_first = False  # an event before each reply, and before the greeting
        self.frozen = threading.Event()  # while it is not set, it stands still
        self.frozen.set()
        self.break_at = None  # (command, bytes): closes after so many bytes of that reply
        self.folder = tempfile.mkdtemp(prefix="scripted-", dir="/tmp")
        self.path = os.path.join(self.folder, "qmp")
        self.peers = []
        self.listener = None
        self.listen()

    # ---- what it has ----

    def add(self, path, thing):
        with self.lock:
            self.objects[path] = thing
            if path != "/":
                parent, _, name = path.rpartition("/")
                self.objects[parent or "/"].children.append(name)
        return thing

    def remove(self, path):
        """Without a word."""
        parent, _, name = path.rpartition("/")
        with self.lock:
            self.objects[parent or "/"].children.remove(name)
            for other in [other for other in self.objects if other == path or other.startswith(path + "/")]:
                del self.objects[other]

    # ---- what it answers ----

    def commands(self):
        own = ["qom-list", "qom-get", "qom-set", "query-commands", "query-qmp-schema", "qmp_capabilities"]
        return own + (["qom-list-get"] if self.bulk else []) + list(self.replies)

    def schema(self):
        return [{"name": "0", "meta-type": "object", "members": []}] + [
            {"name": name, "meta-type": "command", "arg-type": "0", "ret-type": "0"} for name in self.commands()
        ]

    def entries(self, path, values):
        thing = self.objects[path]
        listed = []
        for name, value in thing.values.items():
            entry = {"name": name, "type": thing.type_of(name)}
            if values and not isinstance(value, Unreadable):
                entry["value"] = value
            listed.append(entry)
        for name in thing.children:
            child = path.rstrip("/") + "/" + name
            entry = {"name": name, "type": f"child<{self.objects[child].kind}>"}
            if values:
                entry["value"] = child
            listed.append(entry)
        return listed

    def answer(self, command, arguments):
        """(return value, None) or (None, error)"""
        if command == "qmp_capabilities":
            return {}, None
        if command in self.replies:
            reply = self.replies[command]
            return (None, generic(reply.words)) if isinstance(reply, Unreadable) else (reply, None)
        if command == "query-commands":
            return [{"name": name} for name in self.commands()], None
        if command == "query-qmp-schema":
            return self.schema(), None
        paths = arguments.get("paths", [arguments.get("path")])
        if command not in self.commands():
            return None, NO_COMMAND
        if any(path not in self.objects for path in paths):
            return None, NOT_FOUND
        if command == "qom-list-get":
            return [{"properties": self.entries(path, True)} for path in paths], None
        if command == "qom-list":
            return self.entries(paths[0], False), None
        return self.property(command, self.objects[paths[0]], arguments)

    def property(self, command, thing, arguments):
        name = arguments["property"]
        if name not in thing.values:
            return None, generic(f"Property '{thing.kind}.{name}' not found")
        if command == "qom-set":
            if name == "fixed":
                return None, generic(f"Property '{thing.kind}.{name}' is not writable")
            thing.values[name] = arguments["value"]
            return {}, None
        value = thing.values[name]
        return (None, generic(value.words)) if isinstance(value, Unreadable) else (value, None)

    # ---- what it was asked ----

    def asked(self, *commands):
        """The arguments of each of these commands, in order."""
        return [arguments for command, arguments in list(self.log) if command in commands]

    def forget(self):
        self.log.clear()

    # ---- speaking ----

    def listen(self):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.path)
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(self.path)
        self.listener.listen(8)
        threading.Thread(target=self.accept, args=(self.listener,), daemon=True).start()

    def accept(self, listener):
        while True:
            try:
                peer, _ = listener.accept()
            except OSError:
                return
            self.peers.append(peer)
            threading.Thread(target=self.serve, args=(peer,), daemon=True).start()

    def event(self):
        now = time.time_ns() // 1000
        return {"event": "NIC_RX_FILTER_CHANGED", "timestamp": {"seconds": now // 10**6, "microseconds": now % 10**6}}

    def send(self, peer, message):
        self.frozen.wait()
        if self.event_first:
            peer.sendall(json.dumps(self.event()).encode() + b"\r\n")
        peer.sendall(json.dumps(message).encode() + b"\r\n")

    def serve(self, peer):
        try:
            major, minor, micro = self.version
            version = {"qemu": {"major": major, "minor": minor, "micro": micro}, "package": ""}
            self.send(peer, {"QMP": {"version": version, "capabilities": self.capabilities}})
            buffer, decoder = "", json.JSONDecoder()
            while True:
                data = peer.recv(65536)
                if not data:
                    return
                buffer += data.decode()
                while buffer.strip():
                    try:
                        request, end = decoder.raw_decode(buffer.lstrip())
                    except ValueError:
                        break
                    buffer = buffer.lstrip()[end:]
                    self.execute(peer, request)
        except OSError:
            pass
        finally:
            peer.close()

    def execute(self, peer, request):
        command, arguments = request["execute"], request.get("arguments", {})
        self.frozen.wait()
        self.log.append((command, arguments))
        with self.lock:
            value, error = self.answer(command, arguments)
        reply = {"error": error} if error else {"return": value}
        if "id" in request:
            reply["id"] = request["id"]
        if self.break_at and command == self.break_at[0]:
            peer.sendall(json.dumps(reply).encode()[: self.break_at[1]])
            self.stop()
            raise OSError("it dies here")
        self.send(peer, reply)

    # ---- its life ----

    def stop(self):
        """As a process that is killed."""
        self.listener.close()
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.path)
        for peer in self.peers:
            with contextlib.suppress(OSError):
                peer.shutdown(socket.SHUT_RDWR)
        self.peers = []

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.frozen.set()
        self.stop()
        os.rmdir(self.folder)
