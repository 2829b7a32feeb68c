#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A tree whose replies are long: they are right, and whoever asks for them holds up nobody. Prints TAP.

usage: large.py SERVE
"""

import json
import select
import sys
import tempfile

from checks import finish, ok
from peer import Peer, Server

OBJECTS = 20000
TRIES = 20


def make_tree():
    def prop(name, value):
        return {'name': name, 'type': 'string', 'value': value}

    children = [{'name': f'o{i}', 'children': [], 'properties': [prop('type', 'thing'), prop('text', f'{i}' * 20)]}
                for i in range(OBJECTS)]
    return {'name': '/', 'children': children, 'properties': [prop('type', 'container')]}


def listed(node, path):
    """What qom-list-get returns of an object of the tree."""
    children = [{'name': child['name'], 'type': 'child<thing>', 'value': f'{path}/{child["name"]}'}
                for child in node['children']]
    return {'properties': node['properties'] + children}


def request(command, **arguments):
    return json.dumps({'execute': command, 'arguments': arguments}).encode()


def is_answered_first(server, other, data):
    """Whether `other` has its reply before one that has asked for a long one, earlier, gets anything."""
    asker = Peer(server.path)
    asker.greet()
    asker.send(data)
    other.call('query-version')
    first = not select.select([asker.socket], [], [], 0)[0]
    asker.close()  # in the middle of its reply
    return first


def check(server, tree):
    peer, other = Peer(server.path), Peer(server.path)
    peer.greet()
    other.greet()
    paths = [f'/o{i}' for i in range(OBJECTS)]
    ok(peer.call('qom-tree-get', path='/') == tree, 'qom-tree-get returns the whole tree')
    ok(peer.call('qom-list-get', paths=['/'] + paths) == [listed(tree, '')] + [listed(child, '') for child in
                                                                                tree['children']],
       'qom-list-get returns all objects')
    ok(len(peer.call('qom-list', path='/')) == OBJECTS + 1, 'qom-list lists them')
    peer.send(request('qom-tree-get', path='/') + request('qom-get', path='/o7', property='type'))
    ok(peer.reply()['return'] == tree and peer.reply() == {'return': 'thing'}, 'replies come in the order of the requests')
    for command, arguments in ('qom-tree-get', {'path': '/'}), ('qom-list-get', {'paths': ['/'] * 5}):
        data = request(command, **arguments)
        ok(any(is_answered_first(server, other, data) for _ in range(TRIES)), f'{command} does not hold up others')
    ok(peer.call('qom-get', path='/o19999', property='type') == 'thing', 'all goes on')
    peer.send(request('qom-tree-get', path='/'))  # to be ended in the middle
    peer.close()


def main():
    tree = make_tree()
    with tempfile.NamedTemporaryFile('w', suffix='.json') as file:
        json.dump(tree, file)
        file.flush()
        server = Server(sys.argv[1], file.name)
        try:
            check(server, tree)
        finally:
            ok(server.close() == 0, 'the server ends well')
    finish()


main()
