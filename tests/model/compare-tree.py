#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares the tree of the model's q35-rich configuration with the one recorded from QEMU. Prints TAP; what differs,
and what QEMU's has more, must stand in the reviewed lists below.

usage: compare-tree.py SERVE CONFIG RECORDED
"""

import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), '..', 'qmp'))

from checks import finish, ok  # noqa: E402
from peer import Peer, Server  # noqa: E402
from trees import Comparison, triples  # noqa: E402

WANTED = 0.95  # of (type, property with [N], property type)

# Types and children that the model's tree does not have, with the reason.
LEFT_OUT = {
    'monitor-qmp': "QEMU's own monitor; the companion socket of a mount is no object of the VM",
    'chardev-socket': "what QEMU's own monitor listens on",
}
LEFT_OUT_CHILD = 'compat_monitor0'  # the name of both

# Values that cannot be the same, with the reason.
DIFFERING = {
    ('pc-q35-11.1-machine', 'rtc-time'): 'the time of day',
    ('mc146818rtc', 'date'): 'the time of day',
}


def model_tree(serve, config):
    server = Server(serve, config)
    try:
        peer = Peer(server.path)
        peer.greet()
        tree = peer.call('qom-tree-get', path='/')
        peer.close()
        return tree
    finally:
        server.close()


def is_left_out(triple):
    type_name, name, prop_type = triple
    return type_name in LEFT_OUT or name == LEFT_OUT_CHILD and prop_type[len('child<'):-1] in LEFT_OUT


def report_kinds(counter, what, comparison, expected=()):
    for key in sorted(counter):
        if key in expected:
            print(f'# {what}: {key[0]}.{key[1]}: {expected[key]}')
        else:
            print(f'# {what}: {key[0]}.{key[1]}, {counter[key]} times: {comparison.example(counter, key)}')
    ok(all(key in expected for key in counter), f'{what}: {len(counter)} kinds, all with a reason')


def main():
    serve, config, recorded = sys.argv[1:4]
    theirs = json.load(open(recorded))
    ours = model_tree(serve, config)
    wanted, have = triples(theirs), triples(ours)
    missing = wanted - have
    print(f'# (type, property, property type): {len(wanted & have)} of {len(wanted)}, '
          f'{100 * len(wanted & have) / len(wanted):.2f} %')
    for name in sorted({triple[0] for triple in missing} & LEFT_OUT.keys()):
        print(f'# left out: {name}: {LEFT_OUT[name]}')
    for triple in sorted(filter(lambda triple: not is_left_out(triple), missing)):
        print(f'# missing: {triple}')
    ok(len(wanted & have) >= WANTED * len(wanted), f'at least {100 * WANTED:.0f} % of types and properties')
    ok(all(map(is_left_out, missing)), 'what is left out has a reason')
    ok(have <= wanted, 'nothing that QEMU does not have')

    comparison = Comparison(theirs, ours, [f'/{LEFT_OUT_CHILD}$'])
    print(f'# objects: {len(comparison.ours)} here, {len(comparison.theirs)} there; values that are the same: '
          f'{comparison.same_values} of {comparison.values}; link targets: {comparison.same_links} of '
          f'{comparison.links}')
    ok(not comparison.missing_objects, f'no object is missing: {comparison.missing_objects}')
    ok(not comparison.extra_objects, f'no object more: {comparison.extra_objects}')
    ok(comparison.same_links == comparison.links, 'all links point where they do in QEMU')
    report_kinds(comparison.missing, 'properties missing', comparison)
    report_kinds(comparison.extra, 'properties more', comparison)
    report_kinds(comparison.types, 'types of properties differ', comparison)
    report_kinds(comparison.differing, 'values differ', comparison, DIFFERING)
    finish()


main()
