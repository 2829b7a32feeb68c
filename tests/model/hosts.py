#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Character devices, networks, drives and the balloon of the rich machine: who has what, and the errors, worded as
QEMU 11.1 words them (each was asked of one). Prints TAP.

usage: hosts.py SERVE CONFIG
"""

import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), '..', 'qmp'))

from checks import finish, ok  # noqa: E402
from peer import Peer, Server  # noqa: E402

PERIPHERAL = '/machine/peripheral'
BALLOON = f'{PERIPHERAL}/balloon0'
UNFILLED = (1 << 64) - 1
NULL = {'type': 'null', 'data': {}}


def chardev(name, **data):
    return {'type': name, 'data': data}


def port(**more):
    return {'driver': 'virtserialport', 'bus': 'vser0.0', **more}


def card(**more):
    return {'driver': 'virtio-net-pci', 'bus': 'rp1', **more}


# (command, arguments, what its error says; None: it succeeds)
STEPS = [
    ('chardev-add', {'id': 'c', 'backend': NULL}, None),
    ('chardev-add', {'id': 'c', 'backend': NULL}, "Chardev with id 'c' already exists"),
    ('chardev-add', {'id': 'd', 'backend': chardev('file', out='/nonexistent/x')},
     "Failed to add chardev 'd': Could not open '/nonexistent/x': No such file or directory"),
    ('chardev-add', {'id': 'd', 'backend': chardev('file')}, "Parameter 'backend.data.out' is missing"),
    ('chardev-add', {'id': 'd', 'backend': chardev('ringbuf', size=1000)},
     "Failed to add chardev 'd': size of ringbuf chardev must be power of two"),
    ('chardev-add', {'id': 'd', 'backend': chardev('nosuch')}, "Parameter 'type' does not accept value 'nosuch'"),
    ('chardev-add', {'id': 'd', 'backend': {'type': 'null'}}, "Parameter 'backend.data' is missing"),
    ('chardev-add', {'id': 'd', 'backend': chardev('ringbuf', size=4096)}, None),
    ('chardev-remove', {'id': 'd'}, None),
    ('chardev-remove', {'id': 'd'}, "Chardev 'd' not found"),
    ('device_add', port(id='p', chardev='c'), None),
    ('device_add', port(id='q', chardev='c'),
     "Property 'virtserialport.chardev' can't take value 'c': chardev 'c' is already in use"),
    ('device_add', port(id='q', chardev='nosuch'), "Property 'virtserialport.chardev' can't find value 'nosuch'"),
    ('chardev-remove', {'id': 'c'}, "Chardev 'c' is busy"),
    ('device_del', {'id': 'p'}, None),
    ('chardev-remove', {'id': 'c'}, None),
    ('netdev_add', {'type': 'user', 'id': 'n'}, None),
    ('netdev_add', {'type': 'user', 'id': 'n'}, "Duplicate ID 'n'"),
    ('netdev_add', {'type': 'user', 'id': '1n'}, "Parameter 'id' expects an identifier"),
    ('netdev_add', {'type': 'nosuch', 'id': 'm'}, "Parameter 'type' does not accept value 'nosuch'"),
    ('netdev_add', {'type': 'user', 'id': 'm', 'foo': 1}, "Parameter 'foo' is unexpected"),
    ('netdev_del', {'id': 'm'}, "Device 'm' not found"),
    ('device_add', card(id='e', netdev='m'), "Property 'virtio-net-device.netdev' can't find value 'm'"),
    ('device_add', card(id='e', netdev='net0'), "Property 'virtio-net-device.netdev' can't take value 'net0', it's in use"),
    ('device_add', card(id='e', netdev='n'), None),
    ('netdev_del', {'id': 'n'}, None),  # the card keeps the name
    ('netdev_add', {'type': 'user', 'id': 'n'}, None),
    ('device_del', {'id': 'e'}, None),
    ('device_add', {'driver': 'scsi-hd', 'id': 'h'}, 'drive property not set'),
    ('device_add', {'driver': 'scsi-hd', 'id': 'h', 'drive': 'raw0'}, "Permission conflict on node 'raw0'"),
    ('device_del', {'id': 'disk1'}, None),
    ('device_add', {'driver': 'scsi-hd', 'id': 'h', 'drive': 'raw0'}, None),
    ('device_add', {'driver': 'nvme', 'id': 'v', 'bus': 'rp2'}, 'serial property not set'),
    ('device_add', {'driver': 'virtio-balloon-pci', 'id': 'b', 'bus': 'rp2'}, 'Only one balloon device is supported'),
    ('balloon', {'value': 0}, "Parameter 'value' expects a size"),
    ('qom-set', {'path': BALLOON, 'property': 'guest-stats-polling-interval', 'value': -1},
     'timer value must be greater than zero'),
    ('qom-set', {'path': BALLOON, 'property': 'guest-stats-polling-interval', 'value': 9999999999},
     'timer value is too big'),
    ('qom-set', {'path': f'{BALLOON}/virtio-backend', 'property': 'guest-stats-polling-interval', 'value': 3}, None),
]


def run(peer, command, arguments):
    """The error, or None."""
    peer.send(json.dumps({'execute': command, 'arguments': arguments}).encode())
    return peer.reply().get('error', {}).get('desc')


def peripherals(peer):
    return {child['name'] for child in peer.call('qom-list', path=PERIPHERAL)}


def check(peer):
    before = peripherals(peer)
    for number, (command, arguments, wanted) in enumerate(STEPS):
        error = run(peer, command, arguments)
        good = error is None if wanted is None else (error or '').startswith(wanted)
        ok(good, f'step {number}: {command} {arguments}' + ('' if good else f': {error}'))
    ok(peripherals(peer) == before - {'disk1'} | {'h'}, 'failures leave nothing behind')
    ok(peer.call('qom-get', path=BALLOON, property='guest-stats-polling-interval') == 3, 'the interval is one value')
    ok(set(peer.call('qom-get', path=BALLOON, property='guest-stats')['stats'].values()) == {UNFILLED},
       'statistics that no guest filled have all 64 bits')
    memory = peer.call('query-balloon')['actual']
    peer.call('balloon', value=1 << 28)
    ok(peer.call('query-balloon')['actual'] == memory, 'a guest that does not run gives nothing')
    peer.events.clear()
    peer.call('cont')
    ok(peer.call('query-balloon')['actual'] == 1 << 28, 'one that runs again does')
    ok([event['data'] for event in peer.events if event['event'] == 'BALLOON_CHANGE'] == [{'actual': 1 << 28}],
       'BALLOON_CHANGE tells')


def main():
    server = Server(sys.argv[1], sys.argv[2])
    try:
        peer = Peer(server.path)
        peer.greet()
        check(peer)
        peer.close()
    finally:
        ok(server.close() == 0, 'the server ends well')
    finish()


main()
