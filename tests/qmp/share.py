#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""share.py SHARE-SERVE: a real QEMU (each that is installed) shared by many clients, as --share does it.

Debian's 7.2 goes through the multiplexer, 11.1 through private monitors; what clients see is the same.
"""
import array
import glob
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time

from processes import innermost

CLIENTS = int(os.environ.get('SHARE_CLIENTS', '64'))
# A sanitizer's build is not watched for longer than it takes to see each kind of command many times.
COMMANDS = int(os.environ.get('SHARE_COMMANDS', '1000' if os.environ.get('KIND', 'plain') == 'plain' else '100'))


class Client:
    """One connection, with whatever events it has seen."""

    def __init__(self, path, negotiate=True):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(60)
        self.socket.connect(path)
        self.file = self.socket.makefile('r')
        self.events = []
        self.greeting = self.read()
        if negotiate:
            assert self.call('qmp_capabilities') == {'return': {}}

    def read(self):
        line = self.file.readline()
        return json.loads(line) if line else None

    def reply(self):
        while True:
            message = self.read()
            if message is None or 'event' not in message:
                return message
            self.events.append(message['event'])

    def send(self, command, arguments=None, number=None, fd=None, word='execute'):
        message = {word: command}
        if arguments is not None:
            message['arguments'] = arguments
        if number is not None:
            message['id'] = number
        text = json.dumps(message, separators=(',', ':')).encode() + b'\n'
        if fd is None:
            self.socket.sendall(text)
        else:
            self.socket.sendmsg([text], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', [fd]))])

    def call(self, command, arguments=None, fd=None):
        self.send(command, arguments, fd=fd)
        return self.reply()

    def close(self):
        # The file holds the socket, too.
        self.file.close()
        self.socket.close()


def start_qemu(program, path):
    return subprocess.Popen(
        [program, '-S', '-display', 'none', '-nodefaults', '-machine', 'none', '-monitor', 'none', '-qmp',
         f'unix:{path},server=on,wait=off'], stdin=subprocess.DEVNULL)


class Shared:
    """A QEMU, and what shares it."""

    def __init__(self, program, serve, folder, permitted=None):
        self.program = program
        self.folder = folder
        self.given = os.path.join(folder, 'given')
        self.path = os.path.join(folder, 'shared')
        self.qemu = start_qemu(program, self.given)
        self.serve = subprocess.Popen([serve, self.given, self.path] + ([permitted] if permitted else []),
                                      stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                      stderr=subprocess.DEVNULL)
        self.kind = self.serve.stdout.readline().strip()

    def end(self):
        self.serve.stdin.close()
        status = self.serve.wait(20)
        self.serve.stdout.close()
        self.qemu.kill()
        self.qemu.wait()
        return status


def many(shared):
    """Each of many clients gets its own replies, in order, none lost; descriptors are the right ones."""
    problems, over = [], threading.Event()
    pid = innermost(shared.qemu.pid)

    def disturb():
        client = Client(shared.path)
        while not over.is_set():
            client.call('cont')
            client.call('stop')
            time.sleep(0.005)
        client.close()

    def work(number):
        client = Client(shared.path)
        own = tempfile.NamedTemporaryFile(prefix=f'share-{number}-')
        expected = []
        sent = 0
        while sent < COMMANDS:
            count = min(100, COMMANDS - sent)
            for i in range(sent, sent + count):
                label = [number, i] if i % 3 == 0 else f'{number}-{i}' if i % 3 == 1 else i
                if number % 4 == 0 and i % 50 == 49:
                    client.send('add-fd', {'opaque': str(number)}, label, fd=own.fileno())
                elif number % 4 == 1 and i % 50 == 48:
                    client.send('getfd', {'fdname': f'n{number}'}, label, fd=own.fileno())
                elif i % 10 == 9:
                    client.send('no-such', {}, label)
                else:
                    client.send('query-name', None, label)
                expected.append((label, i))
            sent += count
            added = []
            for label, i in expected:
                reply = client.reply()
                if reply is None or reply.get('id') != label:
                    problems.append(f'client {number}: {reply} instead of the reply to {label}')
                    return
                takes = (number % 4 == 0 and i % 50 == 49) or (number % 4 == 1 and i % 50 == 48)
                if ('error' in reply) != (i % 10 == 9 and not takes):
                    problems.append(f'client {number}: {reply}')
                if 'fd' in reply.get('return', {}):
                    held = reply['return']
                    there = os.stat(f'/proc/{pid}/fd/{held["fd"]}')
                    if there.st_ino != os.fstat(own.fileno()).st_ino:
                        problems.append(f'client {number}: its descriptor is another file')
                    added.append(held['fdset-id'])
            for fdset in added:
                client.call('remove-fd', {'fdset-id': fdset})
            expected = []
        if not client.events:
            problems.append(f'client {number}: no event came')
        client.close()

    noise = threading.Thread(target=disturb)
    noise.start()
    threads = [threading.Thread(target=work, args=(number,)) for number in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    over.set()
    noise.join()
    return problems


def bad_clients(shared):
    """Those that never read, that die with commands under way, that send rubbish: the others do not notice."""
    problems = []
    deaf = Client(shared.path)
    deaf.socket.setblocking(False)
    flood = b'{"execute":"query-qmp-schema"}\n' * 200
    try:
        deaf.socket.send(flood)
    except BlockingIOError:
        pass
    for _ in range(20):
        dying = Client(shared.path)
        for _ in range(20):
            dying.send('query-name')
        dying.close()
    rubbish = Client(shared.path)
    rubbish.socket.sendall(b'\x01 nonsense {"execute":\n]\n{"execute":"query-name","id":"after"}\n')
    seen = []
    while not seen or seen[-1].get('id') != 'after':
        seen.append(rubbish.reply())
    if 'return' not in seen[-1] or not all('error' in reply for reply in seen[:-1]):
        problems.append(f'after rubbish: {seen}')
    other = Client(shared.path)
    for _ in range(50):
        start = time.monotonic()
        other.call('query-name')
        if time.monotonic() - start > 2:
            problems.append('a client was held up for two seconds')
    for client in (deaf, rubbish, other):
        client.close()
    return problems


def permits(shared):
    """Not everything is let through, and refusals keep the order."""
    problems = []
    client = Client(shared.path)
    for i, command in enumerate(['query-name', 'quit', 'query-name', 'human-monitor-command', 'query-name']):
        client.send(command, {'command-line': 'info status'} if command.startswith('human') else None, i)
    replies = [client.reply() for _ in range(5)]
    if [reply['id'] for reply in replies] != list(range(5)):
        problems.append(f'not in order: {replies}')
    for i in (1, 3):
        if replies[i].get('error', {}).get('class') != 'CommandNotFound' or '--share' not in replies[i]['error']['desc']:
            problems.append(f'not refused: {replies[i]}')
    client.close()
    return problems


def names(shared):
    """Names of descriptors are those of the client that gave them, and gone when it leaves."""
    problems = []
    first, second = Client(shared.path), Client(shared.path)
    with tempfile.TemporaryFile() as file:
        if first.call('getfd', {'fdname': 'one'}, file.fileno()) != {'return': {}}:
            problems.append('getfd fails')
        if shared.kind == 'shared' and 'error' not in second.call('getfd', {'fdname': 'one'}, file.fileno()):
            problems.append('another client replaces a name')
        if 'error' not in second.call('closefd', {'fdname': 'one'}):
            problems.append('another client closes a name')
        if 'error' not in second.call('getfd', {'fdname': 'two'}):
            problems.append('getfd without a descriptor succeeds')
        first.close()
        for _ in range(100):
            reply = second.call('getfd', {'fdname': 'one'}, file.fileno())
            if 'error' not in reply:
                break
            time.sleep(0.05)
        if 'error' in reply:
            problems.append(f'a name is not free when its client has left: {reply}')
        if second.call('closefd', {'fdname': 'one'}) != {'return': {}}:
            problems.append('closefd fails')
    second.close()
    return problems


# What qmp-shell is told, and what a program with the package qemu.qmp does.
SHELL = 'query-status\nquery-name\nqom-list path=/\nno-such\nstop\nquery-version\nqom-get path=/ property=type\n'
PACKAGE = """
import asyncio, json, sys
from qemu.qmp import QMPClient, ExecuteError
async def main():
    client = QMPClient()
    said = []
    await client.connect(sys.argv[1])
    with client.listener() as listener:
        for command, arguments in [('query-status', {}), ('no-such', {}), ('cont', {}), ('stop', {}), ('query-name', {}),
                                   ('qom-list', {'path': '/'}), ('query-version', {})]:
            try:
                said.append(await client.execute(command, arguments))
            except ExecuteError as error:
                said.append(str(error))
        while len(said) < 9:
            event = await asyncio.wait_for(listener.get(), 10)
            said.append(event['event'])
    await client.disconnect()
    print(json.dumps(said))
asyncio.run(main())
"""


def own_clients(shared):
    """QEMU's own clients, qmp-shell and qemu.qmp, hear what they hear on QEMU's own socket."""
    prefixes = [os.environ['QEMU_PREFIX']] if 'QEMU_PREFIX' in os.environ else sorted(glob.glob('/opt/qemu-*'))
    runs = []
    for prefix in prefixes:
        for shell in f'{prefix}/qmp-shell', f'{prefix}/bin/qmp-shell':
            if os.access(shell, os.X_OK) and not runs:
                runs.append(([shell], SHELL))
        for python in [f'{prefix}/enter', 'python3'], [f'{prefix}/bin/python3']:
            if os.access(python[0], os.X_OK) and len(runs) == 1 and subprocess.run(
                    [*python, '-c', 'import qemu.qmp'], capture_output=True, stdin=subprocess.DEVNULL, check=False).returncode == 0:
                runs.append(([*python, '-c', PACKAGE], ''))
    if not runs:
        return None
    problems = []
    own = os.path.join(shared.folder, 'own')
    qemu = start_qemu(shared.program, own)
    try:
        while not os.path.exists(own):
            time.sleep(0.05)
        for command, text in runs:
            heard = []
            for path in own, shared.path:
                done = subprocess.run([*command, path], input=text, capture_output=True, text=True, timeout=60, check=False,
                                      env={**os.environ, 'HOME': shared.folder})
                lines = [line for line in done.stdout.splitlines() if '"timestamp"' not in line]
                heard.append((done.returncode, lines))
            # Blanks between tokens are not the message.
            plain = [(status, [line.replace(' ', '') for line in lines]) for status, lines in heard]
            if plain[0] != plain[1] or plain[0][0] != 0 or not plain[0][1]:
                problems.append(f'{command[0]}: {heard[0]}, but shared: {heard[1]}')
    finally:
        qemu.kill()
        qemu.wait()
    return problems


def left_over(shared):
    """Nothing of the clients' is left in QEMU."""
    end = time.monotonic() + 10
    while True:
        client = Client(shared.path)
        objects = client.call('qom-list', {'path': '/objects'}).get('return', [])
        chardevs = client.call('query-chardev')['return']
        client.close()
        ids = [entry['name'] for entry in objects] + [entry['label'] for entry in chardevs]
        ids = sorted({name for name in ids if name.startswith('qomfs-')})
        # Our own, and that of who asks.
        if len(ids) <= (2 if shared.kind == 'private' else 0):
            return []
        if time.monotonic() > end:
            return [f'left: {ids}']
        time.sleep(0.1)


def released(shared):
    """With no client the given socket is others'."""
    time.sleep(1)
    other = Client(shared.given)
    answer = other.call('query-name')
    other.close()
    return [] if answer == {'return': {}} else [f'{answer}']


def main():
    serve = sys.argv[1]
    found = [shutil.which('qemu-system-x86_64')] + sorted(glob.glob('/opt/qemu-11*/qemu-system-x86_64'))
    found = [program for program in found if program]
    if not found:
        print('1..0 # SKIP no QEMU is installed')
        return
    checks = [permits, names, bad_clients, own_clients, many, left_over, released]
    print(f'1..{len(found) * (len(checks) + 2)}')
    number = 0

    def result(problems, name):
        nonlocal number
        number += 1
        if problems is None:
            print(f'ok {number} - {name} # SKIP neither qmp-shell nor qemu.qmp is installed')
            return
        print(f'{"not ok" if problems else "ok"} {number} - {name}')
        for problem in problems[:20]:
            print(f'# {problem}')
        sys.stdout.flush()

    for program in found:
        with tempfile.TemporaryDirectory(prefix='share-') as folder:
            shared = Shared(program, serve, folder)
            try:
                for check in checks:
                    try:
                        problems = check(shared)
                    except (OSError, AssertionError, TypeError, KeyError, ValueError) as error:
                        problems = [f'{type(error).__name__}: {error}']
                    result(problems, f'{program}, {shared.kind}: {check.__doc__.splitlines()[0]}')
            finally:
                status = shared.end()
            result([f'status {status}'] if status else [], f'{program}: it ends')
        with tempfile.TemporaryDirectory(prefix='share-') as folder:
            shared = Shared(program, serve, folder, 'query-status:quit')
            try:
                client = Client(shared.path)
                answers = [client.call(command) for command in ('query-name', 'query-status', 'stop', 'quit')]
                problems = [] if ['error' in (answer or {}) for answer in answers] == [True, False, True, False] else [answers]
                client.close()
            finally:
                shared.end()
            result(problems, f'{program}: a list of commands permits these alone')


main()
