#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The built-in VM's queries beside those that a real QEMU 11.1 answered, of a machine with the same CPUs, memory and
devices. Prints TAP.

usage: queries.py SERVE RECORDED
"""

import json
import os
import sys
import tempfile

from checks import finish, ok
from peer import Peer, Server

# What of the recorded machine (tests/data/README.md) the queries tell of.
CONFIG = {
    'name': '',
    'cpus': {'count': 4, 'model': 'Skylake-Server'},
    'memory': '512M',
    'disks': [{'id': 'disk0', 'iothread': 'iothread0'}],
    'nics': [],
    'root-ports': 0,
    'paused': True,
    'objects': [
        {'qom-type': 'memory-backend-ram', 'id': 'ram1', 'size': 16 << 20},
        {'qom-type': 'rng-random', 'id': 'objrng0'},
    ],
    'devices': [
        {'driver': 'pcie-root-port', 'id': 'rp1', 'chassis': 1},
        {'driver': 'pcie-root-port', 'id': 'rp2', 'chassis': 2},
        {'driver': 'virtio-scsi-pci', 'id': 'scsi0'},
        {'driver': 'virtio-net-pci', 'id': 'nic0', 'mac': '52:54:00:12:34:56'},
        {'driver': 'virtio-balloon-pci', 'id': 'balloon0'},
        {'driver': 'virtio-rng-pci', 'id': 'rng0', 'rng': 'objrng0'},
        {'driver': 'qemu-xhci', 'id': 'usb0'},
        {'driver': 'usb-tablet', 'id': 'tablet0'},
        {'driver': 'virtio-serial-pci', 'id': 'vser0'},
    ],
}

# What cannot be the same, with the reason.
OTHER = {
    'query-accelerators': 'the model runs nothing: it has no accelerator but the one that it names',
    'query-block': 'other disks',
    'query-blockstats': 'other disks',
    'query-named-block-nodes': 'other disks',
    'query-chardev': 'compared by label',
    'query-command-line-options': 'not recorded',
    'query-commands': 'those of our socket',
    'query-cpus-fast': 'compared without the threads',
    'query-iothreads': 'compared without the thread',
    'query-machines': 'compared for the one that there is',
    'query-memdev': 'compared in any order',
    'query-pci': 'compared by device',
    'query-version': 'another build',
    'query-yank': 'its monitor stands on a chardev',
}


def answer(peer, command):
    """As in the recording: {"return": value}, or {"error": true}."""
    peer.send(json.dumps({'execute': command}).encode())
    reply = peer.reply()
    return {'return': reply['return']} if 'return' in reply else {'error': True}


def same(name, ours, theirs):
    ok(ours == theirs, name, f'here  {ours}\nthere {theirs}')


def without(entries, *members):
    return [{name: value for name, value in entry.items() if name not in members} for entry in entries]


def by(entries, member):
    return {entry[member]: entry for entry in entries}


def pci_devices(value):
    """By what they are, as they may stand elsewhere on the bus."""
    return {device['qdev_id'] or f"{device['id']['vendor']:x}:{device['id']['device']:x}":
            {name: value for name, value in device.items() if name not in ('slot', 'bus')}
            for device in value[0]['devices']}


def compare(peer, recorded):
    ours = {command: answer(peer, command) for command in recorded}
    missing = {command for command, value in ours.items() if 'error' in value and 'error' not in recorded[command]}
    same('what QEMU answers is answered', missing, set())
    for command in sorted(recorded.keys() - OTHER):
        same(command, ours[command], recorded[command])
    ours = {command: value.get('return') for command, value in ours.items()}
    theirs = {command: value.get('return') for command, value in recorded.items()}
    same('query-cpus-fast', without(ours['query-cpus-fast'], 'thread-id'), without(theirs['query-cpus-fast'], 'thread-id'))
    same('query-iothreads', without(ours['query-iothreads'], 'thread-id'), without(theirs['query-iothreads'], 'thread-id'))
    same('query-memdev', by(ours['query-memdev'], 'id'), by(theirs['query-memdev'], 'id'))
    ours_default = ours['query-machines'][0]
    same('query-machines', {**ours_default, 'is-default': True},
         {**by(theirs['query-machines'], 'name')[ours_default['name']], 'is-default': True})
    labels = by(theirs['query-chardev'], 'label')
    same('query-chardev', by(ours['query-chardev'], 'label')['parallel0'], labels['parallel0'])
    here, there = pci_devices(ours['query-pci']), pci_devices(theirs['query-pci'])
    for name in sorted(here):
        same(f'query-pci: {name}', here[name], there.get(name))
    same('query-pci: all but what the model was not given', there.keys() - here.keys(), {'nvme0'})


def main():
    with open(sys.argv[2], encoding='utf-8') as file:
        recorded = json.load(file)
    with tempfile.TemporaryDirectory() as folder:
        config = os.path.join(folder, 'vm.json')
        with open(config, 'w', encoding='utf-8') as file:
            json.dump(CONFIG, file)
        server = Server(sys.argv[1], config)
        peer = Peer(server.path)
        peer.greet()
        try:
            compare(peer, recorded)
        finally:
            peer.close()
            status = server.close()
    ok(status == 0, 'the server ends well', status)
    finish()


main()
