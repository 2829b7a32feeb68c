#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Faults on request: what a client sees of a server that misbehaves, that other clients see nothing of it, and servers
that are as an older QEMU's, or serve one client at a time. Prints TAP.

usage: faults.py SERVE
"""

import contextlib
import json
import os
import socket
import subprocess
import sys
import tempfile
import time

from checks import finish, ok
from peer import Server

TYPE = {'execute': 'qom-get', 'arguments': {'path': '/machine', 'property': 'type'}}
VALUE = {'return': 'pc-q35-11.1-machine'}
SILENCE = 0.3  # seconds after which nothing comes any more


def same(got, wanted, name):
    ok(got == wanted, name, f'got    {got}\nwanted {wanted}')


class Client:
    """A connection, as lines of bytes."""

    def __init__(self, path, greeted=True):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(20)
        self.socket.connect(path)
        self.text = b''
        if greeted:
            self.greeting = json.loads(self.line())
            self.send({'execute': 'qmp_capabilities'})
            assert json.loads(self.line()) == {'return': {}}

    def send(self, *messages):
        self.socket.sendall(b''.join(json.dumps(message).encode() for message in messages))

    def more(self, seconds):
        """Whether something came; b'' in text stands for nothing."""
        self.socket.settimeout(seconds)
        try:
            piece = self.socket.recv(65536)
        except (TimeoutError, socket.timeout):
            return None
        except ConnectionResetError:
            piece = b''
        self.text += piece
        return bool(piece)

    def line(self, seconds=20):
        """The next line, or None: nothing comes; what came before the end where the connection was closed."""
        while b'\n' not in self.text:
            came = self.more(seconds)
            if came is None:
                return None
            if not came:
                rest, self.text = self.text, b''
                return rest
        line, _, self.text = self.text.partition(b'\n')
        return line + b'\n'

    def call(self, message, seconds=20):
        self.send(message)
        line = self.line(seconds)
        return line if line in (None, b'') else json.loads(line)

    def closed(self):
        return self.line() == b''

    def close(self):
        self.socket.close()


@contextlib.contextmanager
def serving(**config):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, 'vm.json')
        with open(path, 'w', encoding='utf-8') as file:
            json.dump(config, file)
        server = Server(SERVE, path)
        try:
            yield server
        finally:
            status = server.close()
            ok(status == 0, 'the server ends well', status)


def works(server):
    """Whether another client gets its replies, and at once."""
    client = Client(server.path)
    start = time.monotonic()
    reply = client.call({'execute': 'query-status'})
    client.close()
    return reply == {'return': {'running': True, 'status': 'running'}} and time.monotonic() - start < 10


def hits(server, name):
    client = Client(server.path)
    value = client.call({'execute': 'qom-get', 'arguments': {'path': f'/objects/{name}', 'property': 'hits'}})
    client.close()
    return value


def descriptors(server):
    return len(os.listdir(f'/proc/{server.process.pid}/fd'))


def test_hang():
    with serving(faults=[{'command': 'query-name', 'after': 3, 'do': 'hang'}]) as server:
        client = Client(server.path)
        for _ in range(3):
            same(client.call({'execute': 'query-name'}), {'return': {'name': 'qomfs'}}, 'hang: the first three go well')
        same(client.call({'execute': 'query-name'}, SILENCE), None, 'hang: the fourth gets no reply')
        same(client.call({'execute': 'query-status'}, SILENCE), None, 'hang: what comes after it waits')
        ok(works(server), 'hang: another client is served')
        same(hits(server, 'fault0'), {'return': 1}, 'hang: hits')
        other = Client(server.path)
        same(other.call({'execute': 'query-name'}, SILENCE), None, 'hang: it hangs for others too')
        client.close()
        other.close()
        ok(works(server), 'hang: once they are gone')
        # Many that go while they wait: nothing is left of them.
        before = descriptors(server)
        for _ in range(50):
            client = Client(server.path)
            client.send({'execute': 'query-name'})
            client.close()
        deadline = time.monotonic() + 30
        while descriptors(server) > before and time.monotonic() < deadline:
            time.sleep(0.02)
        ok(descriptors(server) <= before, 'hang: descriptors of clients that gave up', descriptors(server))


def test_delay():
    with serving(faults=[{'command': 'qom-get', 'times': 2, 'do': 'delay', 'ms': 400}]) as server:
        client = Client(server.path)
        for i, least in enumerate((0.4, 0.4, 0)):
            start = time.monotonic()
            client.send(TYPE, {'execute': 'query-status', 'id': i})
            same(json.loads(client.line()), VALUE, 'delay: the reply')
            took = time.monotonic() - start
            ok(least <= took < least + 10, f'delay: {i}', took)
            same(json.loads(client.line())['id'], i, 'delay: the next one comes behind it')
            if least:
                ok(works(server), 'delay: another client is served')
        client.send({'execute': 'qom-set', 'arguments': {'path': '/objects/fault0', 'property': 'ms', 'value': 1}})
        same(json.loads(client.line())['error'], {'class': 'GenericError', 'desc': "Property 'ms' can no longer be set"},
             'delay: it cannot be changed')
        client.close()


def test_close_and_cut():
    faults = [{'command': 'query-name', 'do': 'close', 'times': 1}, {'command': 'query-uuid', 'do': 'cut', 'bytes': 9},
              {'command': 'query-kvm', 'do': 'cut', 'bytes': 100000}]
    with serving(faults=faults) as server:
        client = Client(server.path)
        client.send({'execute': 'query-name'}, {'execute': 'query-status'})
        ok(client.closed(), 'close: no reply, and the end')
        client = Client(server.path)
        same(client.call({'execute': 'query-name'}), {'return': {'name': 'qomfs'}}, 'close: only as often as it says')
        client.send({'execute': 'query-status'}, {'execute': 'query-uuid'}, {'execute': 'query-status'})
        same(json.loads(client.line())['return']['running'], True, 'cut: what was asked before comes whole')
        same(client.line(), b'{"return"', 'cut: at that byte')
        client = Client(server.path)
        client.send({'execute': 'query-kvm'})
        same(json.loads(client.line()), {'return': {'enabled': False, 'present': False}}, 'cut: behind the whole reply')
        ok(client.closed(), 'cut: and the end')
        ok(works(server), 'cut: another client is served')


def test_garbage_and_error():
    faults = [{'id': 'bad', 'command': 'query-name', 'do': 'garbage', 'times': 1},
              {'command': 'stop', 'do': 'error', 'class': 'DeviceNotActive', 'desc': 'not "now"'},
              {'command': 'cont', 'do': 'error'}]
    with serving(faults=faults) as server:
        client = Client(server.path)
        client.send({'execute': 'query-name'})
        line = client.line()
        try:
            json.loads(line)
            parsed = True
        except ValueError:
            parsed = False
        ok(line and not parsed, 'garbage: no JSON', line)
        same(client.call({'execute': 'query-status'})['return']['running'], True, 'garbage: the next reply is good')
        same(client.call({'execute': 'stop', 'id': [1]}),
             {'id': [1], 'error': {'class': 'DeviceNotActive', 'desc': 'not "now"'}}, 'error: as it says')
        same(client.call({'execute': 'query-status'})['return']['running'], True, 'error: it was not executed')
        same(client.call({'execute': 'cont'})['error']['class'], 'GenericError', 'error: the usual class')
        same(hits(server, 'bad'), {'return': 1}, 'garbage: the id is as given')


def test_events():
    faults = [{'command': 'STOP', 'do': 'delay-event', 'ms': 400}, {'command': 'RESUME', 'do': 'lose-event', 'times': 1}]
    with serving(faults=faults) as server:
        client = Client(server.path)
        start = time.monotonic()
        same(client.call({'execute': 'stop'}), {'return': {}}, 'events: the reply to stop comes before')
        same(json.loads(client.line())['event'], 'STOP', 'events: STOP comes')
        ok(0.4 <= time.monotonic() - start < 10, 'events: later', time.monotonic() - start)
        same(client.call({'execute': 'cont'}), {'return': {}}, 'events: the reply to cont')
        same(client.line(SILENCE), None, 'events: RESUME is lost')
        client.send({'execute': 'stop'}, {'execute': 'cont'})
        names = sorted(json.loads(client.line()).get('event', 'reply') for _ in range(4))
        same(names, ['RESUME', 'STOP', 'reply', 'reply'], 'events: it is lost but once')


def test_unplug():
    with serving(faults=[{'do': 'refuse-unplug', 'times': 1}]) as server:
        client = Client(server.path)
        same(client.call({'execute': 'device_add', 'arguments': {'driver': 'virtio-net-pci', 'id': 'n', 'bus': 'rp0'}}),
             {'return': {}}, 'unplug: something to unplug')
        client.send({'execute': 'device_del', 'arguments': {'id': 'n'}})
        event = json.loads(client.line())
        same((event.get('event'), event.get('data')),
             ('DEVICE_UNPLUG_GUEST_ERROR', {'device': 'n', 'path': '/machine/peripheral/n'}), 'unplug: the guest refuses')
        same(json.loads(client.line()), {'return': {}}, 'unplug: the command succeeds')
        same(client.call({'execute': 'qom-get', 'arguments': {'path': '/machine/peripheral/n', 'property': 'type'}}),
             {'return': 'virtio-net-pci'}, 'unplug: it is there still')
        client.send({'execute': 'device_del', 'arguments': {'id': 'n'}})
        same(json.loads(client.line())['event'], 'DEVICE_DELETED', 'unplug: the next time it goes')


def test_object():
    with serving() as server:
        client = Client(server.path)

        def add(**arguments):
            return client.call({'execute': 'object-add', 'arguments': {'qom-type': 'qmp-fault', 'id': 'f', **arguments}})

        def error(**arguments):
            return add(**arguments).get('error', {}).get('desc')

        same(error(do='hang'), "Parameter 'command' is missing", 'object: no command')
        same(error(command='stop', do='delay'), "Parameter 'ms' is missing", 'object: no time')
        same(error(command='stop', do='explode'), "Parameter 'do' does not accept value 'explode'", 'object: what it cannot do')
        same(error(command='stop', what=1), "Parameter 'what' is unexpected", 'object: an unknown member')
        ok('after' in error(command='stop', after=-1), 'object: a number out of range', error(command='stop', after=-1))
        same(add(command='query-name', do='error', desc='no'), {'return': {}}, 'object: a good one')
        same(client.call({'execute': 'query-name'})['error']['desc'], 'no', 'object: it acts')
        same(client.call({'execute': 'object-del', 'arguments': {'id': 'f'}}), {'return': {}}, 'object: it goes')
        same(client.call({'execute': 'query-name'}), {'return': {'name': 'qomfs'}}, 'object: and acts no more')
        # Two of a kind take turns: the first that strikes counts, both have seen it.
        add(command='query-name', do='error', desc='first', times=1)
        client.call({'execute': 'object-add', 'arguments': {'qom-type': 'qmp-fault', 'id': 'g', 'command': 'query-name',
                                                            'do': 'error', 'desc': 'second', 'after': 1, 'times': 1}})
        said = [client.call({'execute': 'query-name'}).get('error', {}).get('desc') for _ in range(3)]
        same(said, ['first', 'second', None], 'object: two of them')


def test_greeting():
    # Whoever looked whether the server listens was the first.
    with serving(faults=[{'command': 'greeting', 'after': 1, 'times': 1, 'do': 'hang'},
                         {'command': 'greeting', 'after': 2, 'times': 1, 'do': 'delay', 'ms': 300},
                         {'command': 'greeting', 'after': 3, 'times': 1, 'do': 'cut', 'bytes': 5},
                         {'command': 'greeting', 'after': 4, 'times': 1, 'do': 'garbage'},
                         {'command': 'greeting', 'after': 5, 'times': 1, 'do': 'close'},
                         {'command': 'qmp_capabilities', 'times': 1, 'do': 'error', 'desc': 'not you'}]) as server:
        silent, late, cut, garbage, closed, refused = [Client(server.path, greeted=False) for _ in range(6)]
        start = time.monotonic()
        silent.send({'execute': 'qmp_capabilities'})
        same(silent.line(SILENCE), None, 'greeting: silence')
        ok('QMP' in json.loads(late.line()) and time.monotonic() - start > 0.2, 'greeting: late')
        same(cut.line(), b'{"QMP', 'greeting: cut')
        ok(b'garbage' in garbage.line(), 'greeting: garbage')
        ok(closed.closed(), 'greeting: closed')
        ok('QMP' in json.loads(refused.line()), 'greeting: as it should be')
        same(refused.call({'execute': 'qmp_capabilities'})['error']['desc'], 'not you', 'negotiation: refused')
        same(refused.call({'execute': 'qmp_capabilities'}), {'return': {}}, 'negotiation: the next time it works')
        ok(works(server), 'greeting: later clients are greeted')
    with serving(qmp={'exclusive': True}) as server:
        first = Client(server.path)
        second = Client(server.path, greeted=False)
        same(second.line(SILENCE), None, 'exclusive: a second client gets no greeting')
        same(first.call({'execute': 'query-status'})['return']['running'], True, 'exclusive: the first is served')
        first.close()
        ok(second.line() is not None, 'exclusive: the second is greeted once the first is gone')
        waiting, refused = [], False
        for _ in range(8):
            probe = socket.socket(socket.AF_UNIX)
            probe.setblocking(False)
            try:
                probe.connect(server.path)
            except BlockingIOError:
                refused = True
            waiting.append(probe)
        ok(refused, 'exclusive: very few may wait')
        for probe in waiting:
            probe.close()
        second.close()


def test_old():
    qmp = {'version': '2.11.0', 'capabilities': [], 'without': ['qom-list-get', 'query-kvm', 'RESUME']}
    with serving(qmp=qmp) as server:
        client = Client(server.path)
        same(client.greeting, {'QMP': {'version': {'qemu': {'major': 2, 'minor': 11, 'micro': 0}, 'package': ''},
                                       'capabilities': []}}, 'old: the greeting')
        same(client.call({'execute': 'query-version'})['return']['qemu']['minor'], 11, 'old: query-version')
        same(client.call({'execute': 'qom-list-get', 'arguments': {'paths': []}})['error']['class'], 'CommandNotFound',
             'old: a command that was not there')
        names = {command['name'] for command in client.call({'execute': 'query-commands'})['return']}
        ok(not names & {'qom-list-get', 'query-kvm'} and 'qom-list' in names, 'old: query-commands')
        schema = client.call({'execute': 'query-qmp-schema'})['return']
        named = {entry['name'] for entry in schema if entry['meta-type'] in ('command', 'event')}
        ok(not named & set(qmp['without']) and 'STOP' in named, 'old: query-qmp-schema')
        ok(not any('allow-oob' in entry for entry in schema), 'old: nothing can be executed out of band')
        client.close()
        client = Client(server.path, greeted=False)
        client.line()
        reply = client.call({'execute': 'qmp_capabilities', 'arguments': {'enable': ['oob']}})
        same(reply.get('error', {}).get('class'), 'GenericError', 'old: a capability that is not offered')


def test_example():
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', 'examples', 'vm-faults.json')
    with open(path, encoding='utf-8') as file:
        faults = json.load(file)['faults']
    server = Server(SERVE, path)
    client = Client(server.path)
    listed = client.call({'execute': 'qom-list', 'arguments': {'path': '/objects'}})['return']
    same({one['name'] for one in listed if one['type'] == 'child<qmp-fault>'}, {fault['id'] for fault in faults},
         'example: its faults are there')
    kinds = client.call({'execute': 'qom-list-properties', 'arguments': {'typename': 'qmp-fault'}})['return']
    ok({'command', 'do', 'after', 'times', 'ms', 'bytes', 'class', 'desc', 'hits'} <= {one['name'] for one in kinds},
       'example: a fault is described', kinds)
    same(client.call({'execute': 'query-balloon'})['error']['desc'], 'no balloon today', 'example: one of them')
    same(len({fault['do'] for fault in faults}), 9, 'example: one of each kind')
    client.close()
    same(server.close(), 0, 'example: the server ends well')


def test_bad_configuration():
    for faults, said in (([{'do': 'hang'}], "faults[0]: Parameter 'command' is missing"),
                         ([{'command': 'a'}, {'command': 'stop', 'do': 'x'}],
                          "faults[1]: Parameter 'do' does not accept value 'x'"),
                         ([{'id': '1', 'command': 'stop'}], "faults[0]: Parameter 'id' expects an identifier"),
                         ([{'command': 'stop', 'sometimes': 1}], "faults[0]: Parameter 'sometimes' is unexpected")):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, 'vm.json')
            with open(path, 'w', encoding='utf-8') as file:
                json.dump({'faults': faults}, file)
            done = subprocess.run([SERVE, path, os.path.join(folder, 's')], capture_output=True, text=True, timeout=60,
                                  check=False)
            ok(done.returncode == 1 and said in done.stderr, f'configuration: {said}', done.stderr)


SERVE = sys.argv[1]
for test in (test_hang, test_delay, test_close_and_cut, test_garbage_and_error, test_events, test_unplug, test_object,
             test_greeting, test_old, test_example, test_bad_configuration):
    test()
finish()
