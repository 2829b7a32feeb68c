# SPDX-License-Identifier: MIT
"""A QMP client for tests, and the server that they talk to."""

import json
import os
import signal
import socket
import subprocess
import tempfile
import time


class Server:
    """tests/qmp/serve with a source, at a socket in a folder of its own; ended, and checked, by close()."""

    def __init__(self, program, source='model'):
        # In /tmp, which programs of a system of their own see as well.
        self.folder = tempfile.TemporaryDirectory(prefix='qmp-', dir='/tmp')
        self.path = os.path.join(self.folder.name, 'sock')
        self.process = subprocess.Popen([program, source, self.path], stdin=subprocess.DEVNULL)
        deadline = time.monotonic() + 60
        while not self.listens():
            if self.process.poll() is not None or time.monotonic() > deadline:
                self.process.kill()
                raise RuntimeError('the server did not start')
            time.sleep(0.01)

    def listens(self):
        with socket.socket(socket.AF_UNIX) as probe:
            return probe.connect_ex(self.path) == 0

    def close(self):
        """Returns the exit status."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(timeout=60)
        finally:
            self.process.kill()
            self.folder.cleanup()


class Peer:
    """One connection, as bytes and as messages."""

    def __init__(self, path, patience=60):
        """patience: seconds that are waited for a line where no other time is given."""
        self.patience = patience
        self.socket = socket.socket(socket.AF_UNIX)
        try:
            self.socket.connect(path)
        except OSError:
            self.socket.close()
            raise
        self.buffer = bytearray()  # in place: a reply may have 100 MB
        self.events = []

    def send(self, data):
        self.socket.sendall(data)

    def end(self):
        """Nothing more will be sent."""
        self.socket.shutdown(socket.SHUT_WR)

    def line(self, timeout=None):
        """The next line; None at the end of the connection. TimeoutError when nothing comes."""
        deadline = time.monotonic() + (self.patience if timeout is None else timeout)
        searched = 0
        while (end := self.buffer.find(b'\n', searched)) < 0:
            searched = len(self.buffer)
            self.socket.settimeout(max(deadline - time.monotonic(), 0.001))
            data = self.socket.recv(1 << 20)
            if not data:
                return None
            self.buffer += data
        line = bytes(memoryview(self.buffer)[:end])
        del self.buffer[:end + 1]
        return line

    def message(self, timeout=None):
        """The next line as an object; None at the end of the connection. TimeoutError when nothing comes."""
        line = self.line(timeout)
        return None if line is None else json.loads(line)

    def reply(self, timeout=None):
        """The next message that is no event; events are collected."""
        message = self.message(timeout)
        while message is not None and 'event' in message:
            self.events.append(message)
            message = self.message(timeout)
        return message

    def greet(self):
        greeting = self.message()
        assert 'QMP' in greeting, greeting
        self.call('qmp_capabilities')
        return greeting

    def ask(self, command, **arguments):
        """The whole reply to a command: an error is an answer, too."""
        return self.ask_each(command, [arguments])[0]

    def ask_each(self, command, many):
        """The replies to a command with each of these arguments, which are sent together."""
        requests = []
        for arguments in many:
            request = {'execute': command}
            if arguments:
                request['arguments'] = {name.replace('_', '-'): value for name, value in arguments.items()}
            requests.append(json.dumps(request))
        self.send('\n'.join(requests).encode())
        return [self.reply() for _ in many]

    def call(self, command, **arguments):
        """The return value of a command; RuntimeError with the error that it gives."""
        answer = self.ask(command, **arguments)
        if answer is None or 'return' not in answer:
            raise RuntimeError(f'{command}: {answer}')
        return answer['return']

    def close(self):
        self.socket.close()
