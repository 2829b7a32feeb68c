#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A million objects behind the socket: replies of more than 100 MB are right to the byte, in the time that a read of the
tree may take, and nobody else waits for them. Prints TAP.

usage: million.py SERVE

Replies are compared as bytes: as Python's objects they would take gigabytes.
"""

import json
import os
import sys
import tempfile
import threading
import time

from checks import finish, ok
from peer import Peer, Server

KIND = os.environ.get('KIND', 'plain')
OBJECTS = 1000000 if KIND == 'plain' else 100000  # a sanitizer finds in a tenth what it would in all
AT_ONCE = OBJECTS // 10  # paths in a request
ANSWER = {'plain': 0.1, 'asan': 0.3, 'tsan': 1}[KIND]


def properties(i):
    return f'[{{"name":"type","type":"string","value":"thing"}},{{"name":"n","type":"int","value":{i}}}'


def tree():
    children = ','.join(f'{{"name":"o{i}","children":[],"properties":{properties(i)}]}}' for i in range(OBJECTS))
    return f'{{"name":"/","children":[{children}],"properties":[{{"name":"type","type":"string","value":"container"}}]}}'


class Others(threading.Thread):
    """Somebody who asks for little all the time, and notes how long each answer takes."""

    def __init__(self, path):
        super().__init__()
        self.peer, self.times, self.ended = Peer(path), [], threading.Event()
        self.peer.greet()
        self.start()

    def run(self):
        while not self.ended.wait(0.005):
            start = time.monotonic()
            self.peer.call('query-version')
            self.times.append(time.monotonic() - start)

    def percentile_95(self):
        self.ended.set()
        self.join()
        self.peer.close()
        return sorted(self.times)[len(self.times) * 95 // 100]


def ask(peer, command, **arguments):
    peer.send(json.dumps({'execute': command, 'arguments': arguments}).encode())
    return peer.line(timeout=120).rstrip(b'\r')


def check(server, text):
    peer, others = Peer(server.path), Others(server.path)
    peer.greet()
    got = ask(peer, 'qom-tree-get', path='/')
    ok(got == b'{"return":' + text + b'}', 'qom-tree-get returns the whole tree', f'{len(got)} bytes: {got[:100]}')
    del got
    wanted = '{"name":"type","type":"string"},' + ','.join(
        f'{{"name":"o{i}","type":"child<thing>"}}' for i in range(OBJECTS))
    ok(ask(peer, 'qom-list', path='/') == f'{{"return":[{wanted}]}}'.encode(), 'qom-list lists all')
    for first in 0, OBJECTS - AT_ONCE:
        some = range(first, first + AT_ONCE)
        wanted = ','.join(f'{{"properties":{properties(i)}]}}' for i in some)
        ok(ask(peer, 'qom-list-get', paths=[f'/o{i}' for i in some]) == f'{{"return":[{wanted}]}}'.encode(),
           f'qom-list-get of {AT_ONCE} from {first} on')
    ok(ask(peer, 'qom-get', path=f'/o{OBJECTS - 1}', property='n') == f'{{"return":{OBJECTS - 1}}}'.encode(), 'qom-get')
    late = others.percentile_95()
    ok(late < ANSWER, f'95 of 100 answers to others come within {ANSWER} s', f'{late:.3f} s')
    peer.close()


def main():
    text = tree().encode()
    with tempfile.NamedTemporaryFile(suffix='.json') as file:
        file.write(text)
        file.flush()
        server = Server(sys.argv[1], file.name)
        try:
            check(server, text)
        finally:
            ok(server.close() == 0, 'the server ends well')
    finish()


main()
