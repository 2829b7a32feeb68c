#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Plays exchanges that were recorded from a QEMU against our own server, and prints the results as TAP.

usage: play.py SERVE RECORDED.json [NAME...]

What the file holds is said in its member "about".
"""

import json
import sys
import time

from peer import Peer, Server


def fits(expected, got):
    """Whether a message has what is expected of it."""
    if expected == '$any':
        return True
    if isinstance(expected, dict):
        return isinstance(got, dict) and all(name in got and fits(value, got[name]) for name, value in expected.items())
    if isinstance(expected, bool) or isinstance(got, bool):
        return expected is got
    return expected == got


def unexpected(expected, got):
    return f'expected {json.dumps(expected)[:200]}, got {json.dumps(got)[:200]}'


def play_plain(peer, expected):
    """One reply for each that is expected, and no more."""
    for want in expected:
        if want == {'eof': True}:
            peer.end()
            want = None
        got = peer.reply()
        if got != want if want is None else not fits(want, got):
            return unexpected(want, got)
    peer.end()
    rest = peer.reply()
    return None if rest is None else f'one reply too many: {json.dumps(rest)[:200]}'


def play_recovery(peer, expected):
    """The first reply, then errors, one at least, then the last reply."""
    first, error, last = expected
    got = peer.reply()
    if not fits(first, got):
        return unexpected(first, got)
    got = peer.reply()
    if not fits(error, got):
        return unexpected(error, got)
    while 'error' in got and not fits(last, got):
        got = peer.reply()
    return None if fits(last, got) else unexpected(last, got)


def play(path, case):
    """What went wrong, or None."""
    peer = Peer(path)
    try:
        if 'QMP' not in peer.message():
            return 'there is no greeting'
        for chunk in case['send']:
            peer.send(chunk.encode('latin-1'))
            time.sleep(0.002)  # so that it is read in these pieces
        return (play_recovery if case.get('recovers') else play_plain)(peer, case['expect'])
    except (OSError, ValueError) as problem:
        return f'{type(problem).__name__}: {problem}'
    finally:
        peer.close()


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    with open(sys.argv[2], encoding='utf-8') as file:
        cases = json.load(file)['cases']
    if len(sys.argv) > 3:
        cases = [case for case in cases if case['name'] in sys.argv[3:]]
    print(f'1..{len(cases) + 1}')
    server = Server(sys.argv[1])
    try:
        for number, case in enumerate(cases, 1):
            problem = play(server.path, case)
            print(f'{"not " if problem else ""}ok {number} - {case["name"]}')
            if problem:
                print(f'# {problem}')
    finally:
        status = server.close()
    print(f'{"not " if status else ""}ok {len(cases) + 1} - the server ends with status {status}', flush=True)


main()
