#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""examples/qom against our own server: every method prints the same tree, and what is set is read back. Prints TAP.

usage: qom.py SERVE QOM DUMP
"""

import json
import subprocess
import sys

from checks import finish, ok
from peer import Server

SERVE, QOM, DUMP = sys.argv[1:4]
METHODS = ('get', 'list-get', 'list-getv', 'tree-get')


def qom(server, *arguments):
    """Status, output, errors."""
    done = subprocess.run([QOM, '-s', server.path, *arguments], capture_output=True, text=True, timeout=100, check=False)
    return done.returncode, done.stdout, done.stderr


def expected_lines(node, path=''):
    """What `qom tree` must print of an object of a dump, made from its JSON."""
    for prop in node['properties']:
        value = ' ' + json.dumps(prop['value'], separators=(',', ':')) if 'value' in prop else ''
        yield f'{path}/{prop["name"]}:{value}\n'
    for child in node['children']:
        yield from expected_lines(child, f'{path}/{child["name"]}')


def test_dump():
    server = Server(SERVE, DUMP)
    try:
        with open(DUMP, encoding='utf-8') as file:
            tree = json.load(file)
        expected = ''.join(expected_lines(tree))
        for method in METHODS:
            status, output, errors = qom(server, '--time', 'tree', f'--method={method}')
            ok(status == 0 and output == expected, f'tree by {method} prints the dump', errors)
            words = errors.split()
            ok(words[0::2] == ['real', 'user', 'sys', 'real-user-sys'] and
               abs(float(words[1]) - float(words[3]) - float(words[5]) - float(words[7])) < 1e-5 and
               float(words[7]) > -0.001,  # no thread computes for longer than time passes
               f'--time by {method} tells four times that fit', errors)
        machine = next(child for child in tree['children'] if child['name'] == 'machine')
        status, output, errors = qom(server, 'tree', '/machine')
        ok(output == ''.join(expected_lines(machine, '/machine')), 'tree of a part', errors)
        status, output, errors = qom(server, 'set', '/machine', 'type', 'x')
        ok(status == 1 and errors.startswith('qom: '), 'a saved tree cannot be changed', errors)
    finally:
        ok(server.close() == 0, 'the server of the dump ends well')


def test_model():
    server = Server(SERVE)
    try:
        path = '/objects/iothread0'
        listed = [line.split(': ')[0] for line in qom(server, 'list', path)[1].splitlines()]
        ok('type' in listed and 'poll-max-ns' in listed, 'list', str(listed))
        ok(qom(server, 'get', path, 'type') == (0, '"iothread"\n', ''), 'get')
        ok(qom(server, 'set', path, 'poll-max-ns', '1234') == (0, '', ''), 'set')
        ok(qom(server, 'get', path, 'poll-max-ns') == (0, '1234\n', ''), 'what was set is read back')
        ok(qom(server, 'set', path, 'poll-max-ns', 'no')[0] == 1, 'a wrong value fails')
        ok(qom(server, 'get', path, 'nope')[0] == 1, 'a property that is not there fails')
        ok(qom(server, 'tree', '--method=nope')[0] == 2, 'a method that is not there is wrong usage')
        ok(qom(server, 'get', path)[0] == 2, 'an argument too few is wrong usage')
    finally:
        ok(server.close() == 0, 'the server of the model ends well')
    ok(qom(server, 'tree')[0] == 1, 'without a server it fails')


test_dump()
test_model()
finish()
