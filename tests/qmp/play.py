#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Plays exchanges that were recorded from a QEMU against our own server, and prints the results as TAP.

usage: play.py SERVE RECORDED.json VALUES.json [NAME...]

What the files hold is said in their members "about".
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


def same(wanted, got):
    """Whether a value is another one, where that does not say "$any"."""
    if isinstance(wanted, dict) and isinstance(got, dict):
        return wanted.keys() == got.keys() and all(same(value, got[name]) for name, value in wanted.items())
    if isinstance(wanted, list) and isinstance(got, list):
        return len(wanted) == len(got) and all(map(same, wanted, got))
    return wanted == '$any' or (wanted == got and type(wanted) is type(got))


def unexpected(expected, got):
    return f'expected {json.dumps(expected)[:200]}, got {json.dumps(got)[:200]}'


def play_plain(got, expected):
    """One reply for each that is expected, and no more."""
    for want, reply in zip(expected, got):
        if not fits(want, reply) or ('id' in reply) != ('id' in want):
            return unexpected(want, reply)
    return None if len(got) == len(expected) else f'{len(got)} replies, not {len(expected)}'


def play_recovery(got, expected):
    """The first reply, then errors, one at least, then the last reply."""
    first, error, last = expected
    return play_plain(got, [first] + [error] * max(len(got) - 2, 1) + [last])


def check_values(got, events, values):
    """All that is in the replies but their ids, which the recording has; and the events."""
    for want, reply in zip(values['replies'], got):
        rest = {name: value for name, value in reply.items() if name != 'id'}
        if not same(want, rest):
            return unexpected(want, rest)
    if len(got) != len(values['replies']):
        return f'{len(got)} replies, not {len(values["replies"])}'
    got_events = [[event['event'], event.get('data')] for event in events]
    return None if got_events == values.get('events', []) else unexpected(values.get('events', []), got_events)


def play(path, case, values):
    """What went wrong, or None."""
    peer = Peer(path)
    try:
        if 'QMP' not in peer.message():
            return 'there is no greeting'
        for chunk in case['send']:
            peer.send(chunk.encode('latin-1'))
            time.sleep(0.002)  # so that it is read in these pieces
        peer.end()
        got = list(iter(peer.reply, None))
        return ((play_recovery if case.get('recovers') else play_plain)(got, case['expect'])
                or check_values(got, peer.events, values))
    except (OSError, ValueError) as problem:
        return f'{type(problem).__name__}: {problem}'
    finally:
        peer.close()


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    with open(sys.argv[2], encoding='utf-8') as file:
        cases = json.load(file)['cases']
    with open(sys.argv[3], encoding='utf-8') as file:
        values = json.load(file)['cases']
    if len(sys.argv) > 4:
        cases = [case for case in cases if case['name'] in sys.argv[4:]]
    print(f'1..{len(cases) + 1}')
    server = Server(sys.argv[1])
    try:
        for number, case in enumerate(cases, 1):
            problem = play(server.path, case, values[case['name']])
            print(f'{"not " if problem else ""}ok {number} - {case["name"]}')
            if problem:
                print(f'# {problem}')
    finally:
        status = server.close()
    print(f'{"not " if status else ""}ok {len(cases) + 1} - the server ends with status {status}', flush=True)


main()
