#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The model's trees against those of a QEMU that is started here with the same machine: other counts and ids than in any
recorded tree, and after devices were unplugged and plugged again. Prints TAP; what differs must stand in the reviewed
lists below. Needs QEMU 11.1 ($QEMU, or in /opt); without it, all is
skipped. QEMU runs no guest, so only devices are unplugged that no guest has to let go of.

usage: machines.py SERVE [MACHINE...]
"""

import json
import os
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), '..', 'qmp'))

from checks import finish, ok, skip  # noqa: E402
from peer import Peer, Server  # noqa: E402
from real_qemu import Qemu, programs  # noqa: E402
from trees import Comparison, triples  # noqa: E402

OLDEST = (11, 1)  # the model's own version

# What the model does not have, with the reason.
MONITOR = 'compat_monitor0'
LEFT_OUT = {
    'monitor-qmp': "QEMU's own monitor; the companion socket of a mount is no object of the VM",
    'chardev-socket': "what QEMU's own monitor listens on",
}
# Values that cannot be the same, with the reason.
DIFFERING = {
    ('pc-q35-11.1-machine', 'rtc-time'): 'the time of day',
    ('mc146818rtc', 'date'): 'the time of day',
    ('secret', 'data'): 'secrets are not shown',
}


def disk(name, bus='pcie.0', **more):
    return {'driver': 'virtio-blk-pci', 'id': name, 'drive': f'{name}-node', 'bus': bus, **more}


def node(name, **more):
    return {'driver': 'null-co', 'node-name': f'{name}-node', 'size': 1 << 26, 'read-zeroes': True, **more}


def net(name):
    return {'type': 'user', 'id': name}


def card(name, netdev, bus='pcie.0', **more):
    return {'driver': 'virtio-net-pci', 'id': name, 'netdev': netdev, 'bus': bus, 'mac': '52:54:00:00:00:01', **more}


def port(name, chassis, **more):
    return {'driver': 'pcie-root-port', 'id': name, 'chassis': chassis, 'bus': 'pcie.0', **more}


def rng(name, backend, bus='pcie.0', **more):
    return {'driver': 'virtio-rng-pci', 'id': name, 'rng': backend, 'bus': bus, **more}


def without_id(device):
    return {key: value for key, value in device.items() if key != 'id'}


def random(name):
    return {'qom-type': 'rng-random', 'id': name, 'filename': '/dev/urandom'}


# What each machine has, as QMP writes it; "steps" are done once it is there, and the trees compared again.
MACHINES = {
    'bare': {'cpus': {'count': 1}, 'memory': 128},
    'three-cpus': {
        'cpus': {'count': 3, 'model': 'EPYC-Genoa', 'sockets': 3, 'cores': 1, 'threads': 1}, 'memory': 1024,
        'blockdevs': [node('a')], 'devices': [disk('a')],
    },
    'eight-cpus': {
        'cpus': {'count': 8, 'model': 'Skylake-Server', 'sockets': 2, 'cores': 2, 'threads': 2}, 'memory': 3072,
        'objects': [{'qom-type': 'iothread', 'id': 'io-x'}, {'qom-type': 'iothread', 'id': 'another', 'poll-max-ns': 5},
                    {'qom-type': 'memory-backend-ram', 'id': 'm0', 'size': 1 << 24},
                    {'qom-type': 'memory-backend-ram', 'id': 'm1', 'size': 1 << 25, 'share': True},
                    {'qom-type': 'secret', 'id': 's', 'data': 'swordfish'}],
        'blockdevs': [node(f'd{number}') for number in range(5)], 'netdevs': [net('n0'), net('n1')],
        'devices': [disk('d0', iothread='io-x'), disk('d1', iothread='another', **{'num-queues': 2}), disk('d2'),
                    disk('d3', serial='S3'), without_id(disk('d4')), card('c0', 'n0'), without_id(card('c1', 'n1'))],
    },
    'ports': {
        'cpus': {'count': 2}, 'memory': 512, 'objects': [random('r0'), random('r1')],
        'blockdevs': [node('a'), node('b'), node('c')], 'netdevs': [net('n0'), net('n1')],
        'devices': [port('p1', 1), port('p2', 2), port('p3', 3), port('p5', 5, addr='0x1d'),
                    disk('a', 'p1'), card('x', 'n0', 'p2'), rng('g', 'r0', 'p3'),
                    {'driver': 'virtio-balloon-pci', 'id': 'bal', 'bus': 'pcie.0'},
                    {'driver': 'virtio-scsi-pci', 'id': 'scsi', 'bus': 'pcie.0'},
                    {'driver': 'scsi-hd', 'id': 'h0', 'drive': 'c-node', 'bus': 'scsi.0'}],
        'steps': [('device_add', disk('b', 'p5')), ('object-add', random('r2')), ('device_del', {'id': 'h0'}),
                  ('device_add', {'driver': 'scsi-hd', 'id': 'again', 'drive': 'c-node', 'bus': 'scsi.0', 'scsi-id': 3}),
                  ('object-del', {'id': 'r1'}), ('netdev_add', net('n2')), ('netdev_del', {'id': 'n1'})],
    },
}


def model_config(machine):
    config = {'cpus': machine['cpus'], 'memory': machine['memory'] << 20, 'paused': True, 'root-ports': 0, 'disks': [], 'nics': [],
              'iothreads': []}
    return config | {key: machine[key] for key in ('objects', 'blockdevs', 'netdevs', 'devices') if key in machine}


def qemu_options(machine):
    cpus = dict(machine['cpus'])
    smp = ','.join([str(cpus['count'])] + [f'{key}={cpus[key]}' for key in ('sockets', 'cores', 'threads') if key in cpus])
    options = ['-M', 'q35', '-m', str(machine['memory']), '-smp', smp, '-nodefaults', '-vga', 'std', '-serial', 'vc:80Cx24C', '-parallel', 'vc:80Cx24C']
    options += ['-cpu', cpus['model']] if 'model' in cpus else []
    for member, option in ('objects', '-object'), ('blockdevs', '-blockdev'), ('netdevs', '-netdev'), ('devices', '-device'):
        for each in machine.get(member, ()):
            options += [option, json.dumps(each)]
    return options


def qemu_tree(peer):
    """All of a QEMU's tree as qom-tree-get would return it: level by level."""
    root = {'name': '/', 'children': [], 'properties': []}
    level = [('/', root)]
    while level:
        below = []
        for (path, into), entry in zip(level, peer.call('qom-list-get', paths=[path for path, _ in level])):
            for row in entry['properties']:
                if not row['type'].startswith('child<'):
                    into['properties'].append(row)
                    continue
                child = {'name': row['name'], 'children': [], 'properties': []}
                into['children'].append(child)
                below.append((f'{path.rstrip("/")}/{row["name"]}', child))
        level = below
    return root


def compare(name, theirs, ours):
    comparison = Comparison(theirs, ours, [f'/{MONITOR}$'])
    wanted, have = triples(theirs), triples(ours)
    differing = [key for key in sorted(comparison.differing) if key not in DIFFERING]
    ok(not comparison.missing_objects and not comparison.extra_objects, f'{name}: the same {len(comparison.ours)} objects',
       f'missing: {comparison.missing_objects}', f'more: {comparison.extra_objects}')
    ok(have <= wanted and all(is_left_out(triple) for triple in wanted - have), f'{name}: the same types and properties',
       f'missing: {sorted(wanted - have)}', f'more: {sorted(have - wanted)}')
    ok(not comparison.missing and not comparison.extra and not comparison.types, f'{name}: each object has the same properties',
       *(comparison.example(counter, key) for counter in (comparison.missing, comparison.extra, comparison.types)
         for key in counter))
    ok(not differing, f'{name}: the same values and links', *(comparison.example(comparison.differing, key) for key in differing))


def is_left_out(triple):
    return triple[0] in LEFT_OUT or triple[1] == MONITOR


def change(name, peers, steps):
    """The same in both, which say the same."""
    for command, arguments in steps:
        answers = [peer.ask(command, **arguments) for peer in peers]
        ok(answers[0] == answers[1], f'{name}: {command} {arguments}', *answers)


def check(serve, program, name, machine):
    config = tempfile.NamedTemporaryFile('w', suffix='.json')
    json.dump(model_config(machine), config)
    config.flush()
    qemu = server = None
    try:
        qemu = Qemu(program, *qemu_options(machine))
        server = Server(serve, config.name)
        peer = Peer(server.path)
        peer.greet()
        compare(name, qemu_tree(qemu.peer), peer.call('qom-tree-get', path='/'))
        change(name, (qemu.peer, peer), machine.get('steps', ()))
        if 'steps' in machine:
            compare(f'{name}, changed', qemu_tree(qemu.peer), peer.call('qom-tree-get', path='/'))
        peer.close()
    finally:
        for each in filter(None, (qemu, server)):
            each.close()


def main():
    found = programs(OLDEST)
    if not found:
        skip('as in QEMU', 'QEMU 11.1 is not installed')
        finish()
    for name in sys.argv[2:] or MACHINES:
        check(sys.argv[1], found[-1], name, MACHINES[name])
    finish()


main()
