#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""QEMU's own clients against our server: qmp-shell, and the Python package qemu.qmp. Prints TAP.

usage: clients.py SERVE

They are looked for on the PATH (and in this Python), and in the folders /opt/qemu-* ($QEMU_PREFIX names another), where
`qmp-shell` runs the shell and `enter PROGRAM` any program of that system. Where none is, the tests are skipped.
"""

import glob
import importlib.util
import json
import os
import pty
import select
import shutil
import subprocess
import sys
import time

from checks import finish, ok, skip
from peer import Peer, Server

SERVE = sys.argv[1]
RNG = '/machine/peripheral/rng7'

# Every command, with arguments where it needs some; in this order, which ends the server. Other queries, which need
# none, are asked with them.
COMMANDS = [
    ('query-version', {}),
    ('query-commands', {}),
    ('query-qmp-schema', {}),
    ('query-status', {}),
    ('query-name', {}),
    ('query-uuid', {}),
    ('query-target', {}),
    ('query-cpu-definitions', {}),
    ('query-cpus-fast', {}),
    ('query-iothreads', {}),
    ('query-blockstats', {}),
    ('query-yank', {}),
    ('qom-list', {'path': '/machine'}),
    ('qom-get', {'path': '/objects/iothread0', 'property': 'poll-max-ns'}),
    ('qom-list-get', {'paths': ['/objects/iothread0', '/machine']}),
    ('qom-list-getv', {'paths': ['/objects/iothread0']}),
    ('qom-tree-get', {'path': '/objects'}),
    ('qom-list-types', {'implements': 'iothread'}),
    ('qom-list-properties', {'typename': 'iothread'}),
    ('device-list-properties', {'typename': 'virtio-rng-pci'}),
    ('qom-set', {'path': '/objects/iothread0', 'property': 'poll-max-ns', 'value': 4711}),
    ('object-add', {'qom-type': 'rng-builtin', 'id': 'source7'}),
    ('device_add', {'driver': 'virtio-rng-pci', 'id': 'rng7', 'rng': 'source7'}),
    ('device_del', {'id': 'rng7'}),
    ('object-del', {'id': 'source7'}),
    ('blockdev-add', {'driver': 'null-co', 'node-name': 'node7'}),
    ('blockdev-del', {'node-name': 'node7'}),
    ('chardev-add', {'id': 'char7', 'backend': {'type': 'null', 'data': {}}}),
    ('chardev-remove', {'id': 'char7'}),
    ('netdev_add', {'type': 'user', 'id': 'net7'}),
    ('netdev_del', {'id': 'net7'}),
    ('device_add', {'driver': 'virtio-balloon-pci', 'id': 'balloon7', 'bus': 'rp3'}),
    ('balloon', {'value': 1 << 28}),
    ('stop', {}),
    ('cont', {}),
    ('system_reset', {}),
    ('quit', {}),
]
# What these tell. The device's child goes first, as in QEMU.
EVENTS = [
    ('DEVICE_DELETED', {'path': f'{RNG}/virtio-backend'}),
    ('DEVICE_DELETED', {'device': 'rng7', 'path': RNG}),
    ('BALLOON_CHANGE', {'actual': 1 << 28}),
    ('STOP', {}),
    ('RESUME', {}),
    ('RESET', {'guest': False, 'reason': 'host-qmp-system-reset'}),
    ('SHUTDOWN', {'guest': False, 'reason': 'host-qmp-quit'}),
]

# Runs in the client's Python: does what its standard input says, and prints the results and the events.
PROGRAM = '''
import asyncio, json, sys
from qemu.qmp import EventListener, ExecuteError, QMPClient

async def main():
    path, commands = json.load(sys.stdin)
    client, listener, results = QMPClient('test'), EventListener(), []
    client.register_listener(listener)
    await client.connect(path)
    for command, arguments in commands:
        try:
            results.append({'return': await client.execute(command, arguments)})
        except ExecuteError as error:
            results.append({'error': str(error)})
    await asyncio.sleep(1)
    events = []
    while not listener.empty():
        event = await listener.get()
        events.append([event['event'], event.get('data', {})])
    try:
        await client.disconnect()
    except EOFError:
        pass  # the server ended, as it was told
    json.dump([results, events], sys.stdout)

asyncio.run(main())
'''


def ended_alone(server):
    """Whether the server ended, well, before anybody made it."""
    try:
        return server.process.wait(timeout=30) == 0
    except subprocess.TimeoutExpired:
        return False


# ---- what there is ----


def prefixes():
    """Folders of QEMU that can be used here."""
    named = os.environ.get('QEMU_PREFIX')
    return [named] if named else sorted(glob.glob('/opt/qemu-*'))


def works(*command):
    try:
        return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def find_python():
    """A command that runs a Python with the package."""
    if importlib.util.find_spec('qemu') and importlib.util.find_spec('qemu.qmp'):
        return [sys.executable]
    for prefix in prefixes():
        for command in [f'{prefix}/enter', 'python3'], [f'{prefix}/bin/python3']:
            if works(*command, '-c', 'import qemu.qmp'):
                return command
    return None


def find_shell():
    for program in [shutil.which('qmp-shell')] + [f'{prefix}/{name}' for prefix in prefixes()
                                                   for name in ('qmp-shell', 'bin/qmp-shell')]:
        if program and works(program, '--help'):
            return program
    return None


# ---- the package ----


def answers(peer, command):
    """Whether a command does not fail: some do, where the VM lacks what they are about."""
    try:
        peer.call(command)
        return True
    except RuntimeError:
        return False


def test_package(python):
    name = 'qemu.qmp executes every command'
    if not python:
        skip(name, 'the Python package qemu.qmp is not installed')
        return
    server = Server(SERVE)
    peer = Peer(server.path)
    peer.greet()
    offered = {command['name'] for command in peer.call('query-commands')} - {'qmp_capabilities'}
    named = {command for command, _ in COMMANDS}
    others = sorted(command for command in offered - named if command.startswith('query-'))
    ok(offered == named | set(others), 'every command that is offered is tried', offered ^ named)
    commands = COMMANDS[:-1] + [(command, {}) for command in others if answers(peer, command)] + COMMANDS[-1:]
    # What the server says to a client that is ours, before anything changes.
    wanted = [peer.call(command, **arguments) for command, arguments in COMMANDS[:20]]
    done = subprocess.run([*python, '-c', PROGRAM], input=json.dumps([server.path, commands]), capture_output=True,
                          text=True, timeout=100, check=False)
    if done.returncode != 0:
        ok(False, name, done.stderr)
    else:
        results, events = json.loads(done.stdout)
        bad = [(command, result) for (command, _), result in zip(commands, results) if 'return' not in result]
        ok(not bad and len(results) == len(commands) > len(COMMANDS), name, bad)
        differ = [command for (command, _), result, value in zip(COMMANDS, results, wanted)
                  if result.get('return') != value and not command.startswith('qom-')]
        ok(not differ, 'its replies are those that others get', differ)
        ok(results[13] == {'return': wanted[13]} and results[20] == {'return': {}}, 'a property is read and set',
           [results[13], results[20]])
        ok(events == [list(event) for event in EVENTS], 'it receives the events in order', events)
    peer.close()
    ok(ended_alone(server), 'the server ended by quit')
    server.close()


# ---- the shell ----


def shell_line(command, arguments):
    """A line of qmp-shell's own syntax."""
    return ' '.join([command] + [f'{name}={value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))}'
                                 for name, value in arguments.items()])


def test_shell_commands(shell):
    name = 'qmp-shell executes every command'
    if not shell:
        skip(name, 'qmp-shell is not installed')
        return
    server = Server(SERVE)
    lines = ''.join(shell_line(command, arguments) + '\n' for command, arguments in COMMANDS)
    try:
        done = subprocess.run([shell, server.path], input=lines, capture_output=True, text=True, timeout=100, check=False,
                              env={**os.environ, 'HOME': server.folder.name})
        ended = ended_alone(server)
    finally:
        server.close()
    ok('Connected to QEMU 11.1.0' in done.stdout, 'qmp-shell connects', done.stdout + done.stderr)
    returns = done.stdout.count('"return": ')
    ok(returns >= len(COMMANDS) and '"error": ' not in done.stdout, name, f'{returns} replies: {done.stdout[-1500:]}')
    ok('"status": "running"' in done.stdout, 'it shows what it was told', done.stdout[:1500])
    ok(ended, 'the server ended by its quit')


class Terminal:
    """A program on a terminal of its own."""

    def __init__(self, command, home):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.environ.update(HOME=home, TERM='dumb')
            os.execvp(command[0], command)
        self.text = ''

    def type(self, text):
        os.write(self.fd, text.encode())

    def wait_for(self, text, timeout=60):
        """Whether the text is shown after what was waited for before."""
        deadline = time.monotonic() + timeout
        while text not in self.text:
            if not select.select([self.fd], [], [], max(deadline - time.monotonic(), 0))[0]:
                return False
            try:
                self.text += os.read(self.fd, 65536).decode('utf-8', 'replace')
            except OSError:
                return False
        self.text = self.text.split(text, 1)[1]
        return True

    def close(self):
        self.type('\x04')
        self.wait_for('\0never', 5)
        os.close(self.fd)
        os.waitpid(self.pid, 0)


def test_shell_terminal(shell):
    name = 'qmp-shell completes a command by Tab'
    if not shell:
        skip(name, 'qmp-shell is not installed')
        return
    server = Server(SERVE)
    terminal = Terminal([shell, server.path], server.folder.name)
    try:
        terminal.wait_for('(QEMU) ')
        terminal.type('query-uu\t')
        ok(terminal.wait_for('query-uuid'), name, terminal.text)
        terminal.type('\n')
        ok(terminal.wait_for('"UUID": '), 'what it completed works', terminal.text)
        terminal.type('stop\n')
        ok(terminal.wait_for('"return": {}'), 'it stops the VM', terminal.text)
        terminal.type('\n')  # it shows events at the next prompt
        ok(terminal.wait_for("STOP"), 'it shows the event', terminal.text)
    finally:
        terminal.close()
        ok(server.close() == 0, 'the server ends well')


test_package(find_python())
SHELL = find_shell()
test_shell_commands(SHELL)
test_shell_terminal(SHELL)
finish()
