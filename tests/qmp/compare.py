#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares our server with a real QEMU, where one is installed: what both say of the commands and events that both
have in query-qmp-schema, and the members and types of what both return. Prints TAP.

usage: compare.py SERVE

QEMU is the program that is started: $QEMU, or else each that is found: qemu-system-x86_64 on the PATH, and in folders
/opt/qemu-*. QEMU 11 is the model's own version; what an older one does not have yet is in NEWER.
"""

import os
import re
import sys

from peer import Peer, Server
from real_qemu import Qemu, programs

# What is ours alone, with the reason. Paths as compare() makes them.
OURS = {
    'qom-list-get/arg/path': 'the form for one object, in which it was first proposed',
    'qom-list-get/arg/paths': 'optional, since `path` may stand for it',
    'qom-list-get/ret[]/properties': 'optional, since the element has two forms',
    'qom-list-get/ret[]/name': 'of the form for one object',
    'qom-list-get/ret[]/type': 'of the form for one object',
    'qom-list-get/ret[]/value': 'of the form for one object',
    'object-add/arg:memory-backend-ram/size': 'a property; that it is needed is checked when the object is complete',
    'device_add/features': "about QEMU's command line",
    'chardev-add/arg/backend': 'its members depend on its type; the command checks them',
    'netdev_add/arg': 'its members depend on the type; the command checks them',
    'object-add/arg/qom-type=qmp-fault': 'faults on request',
    'object-add/arg/qom-type=io-load': 'load of a disk, as a guest would make it',
    'object-add/arg:rng-random/opened': 'QEMU ignores it',
    'object-add/arg:rng-builtin/opened': 'QEMU ignores it',
}

# What is older has too little in common with the model's own version.
OLDEST = (7, 2)

# What came after QEMU 7.2: in our schema, not in its.
NEWER = (
    'zone_append', 'failed_zone_append', 'invalid_zone_append', 'zone_append_latency_histogram', 'poll-weight',
    'zone_append_latency_ns', 'zone_append_queue_depth', 'drawer-id', 'book-id', 'module-id',
)

# What else is not the same in QEMU 7.2 and in 11.1, whose schema ours follows.
OLDER = {
    'BLOCK_IO_ERROR/arg/qom-path': 'came later',
    'blockdev-add/arg/active': 'came later',
    'object-add/arg:secret/loaded': 'in 7.2 alone',
    'query-cpu-model-expansion/ret/deprecated-props': 'came later',
    'query-cpus-fast/ret[]/qom-type': 'came later',
    'query-status/ret/singlestep': 'in 7.2 alone',
}

SHAPES = [
    ('query-version', {}),
    ('query-status', {}),
    ('query-name', {}),
    ('query-uuid', {}),
    ('query-target', {}),
    ('query-commands', {}),
    ('query-cpu-definitions', {}),
    ('query-cpus-fast', {}),
    ('query-iothreads', {}),
    ('query-blockstats', {}),
    ('query-blockstats', {'query-nodes': True}),
    ('query-yank', {}),
    ('qom-list', {'path': '/machine'}),
    ('qom-list', {'path': '/machine/unattached/device[0]'}),
    ('qom-list-get', {'paths': ['/objects', '/machine/peripheral']}),
    ('qom-list-types', {'implements': 'iothread'}),
    ('qom-list-types', {'implements': 'event-loop-base', 'abstract': True}),
    ('qom-list-properties', {'typename': 'iothread'}),
    ('device-list-properties', {'typename': 'virtio-rng-pci'}),
    ('query-qmp-schema', {}),
]


# Where QEMU may fail and we not, or the other way round: it depends on the host or on what is plugged.
MAY_FAIL = {'query-sgx-capabilities', 'query-sev-capabilities', 'query-balloon'}


class Schema:
    """query-qmp-schema's return value, by name."""

    def __init__(self, entries):
        self.entries = {entry['name']: entry for entry in entries}

    def kinds(self, *kinds):
        return {name for name, entry in self.entries.items() if entry['meta-type'] in kinds}

    def queries(self):
        """All queries that take no argument, or optional ones."""
        return [name for name in sorted(self.kinds('command')) if name.startswith('query-') and
                all('default' in member for member in self.entries[self.entries[name]['arg-type']]['members'])]


def shapes(schema):
    """SHAPES, and the queries that are not in it."""
    named = {command for command, _ in SHAPES}
    return SHAPES + [(command, {}) for command in schema.queries() if command not in named]


def answer(peer, command, arguments):
    """(value, None), or (None, error)."""
    try:
        return peer.call(command, **arguments), None
    except RuntimeError as error:
        return None, str(error)


class Comparison:
    """Walks the same thing in our schema and in QEMU's and notes what differs."""

    def __init__(self, ours, theirs, is_older):
        self.ours, self.theirs, self.is_older = ours, theirs, is_older
        self.problems = []
        self.seen = set()

    def differ(self, path, what):
        if path in OURS or (self.is_older and (path in OLDER or any(word in path for word in NEWER))):
            return
        self.problems.append(f'{path}: {what}')

    def type(self, path, ours, theirs):
        if path in OURS or (ours, theirs) in self.seen:
            return
        self.seen.add((ours, theirs))
        a, b = self.ours.entries[ours], self.theirs.entries[theirs]
        if a['meta-type'] != b['meta-type']:
            self.differ(path, f'{a["meta-type"]} here, {b["meta-type"]} there')
        elif a['meta-type'] == 'builtin':
            if a != b:
                self.differ(path, f'{ours} here, {theirs} there')
        elif a['meta-type'] == 'array':
            self.type(path + '[]', a['element-type'], b['element-type'])
        elif a['meta-type'] == 'enum':
            # We may use fewer values, but none of our own.
            for value in set(a['values']) - set(b['values']):
                self.differ(f'{path}={value}', 'only here')
        elif a['meta-type'] == 'object':
            self.object(path, a, b)

    def object(self, path, a, b):
        theirs = {member['name']: member for member in b['members']}
        for member in a['members']:
            other = theirs.pop(member['name'], None)
            where = f'{path}/{member["name"]}'
            if other is None:
                self.differ(where, 'only here')
                continue
            if ('default' in member) != ('default' in other):
                self.differ(where, 'optional only on one side')
            self.type(where, member['type'], other['type'])
        for name in theirs:
            self.differ(f'{path}/{name}', 'only there')
        if a.get('tag') != b.get('tag'):
            self.differ(path, f'tag {a.get("tag")} here, {b.get("tag")} there')
        cases = {variant['case']: variant['type'] for variant in b.get('variants', [])}
        for variant in a.get('variants', []):
            if variant['case'] in cases:
                self.type(f'{path}:{variant["case"]}', variant['type'], cases[variant['case']])

    def entry(self, name):
        a, b = self.ours.entries[name], self.theirs.entries[name]
        if not self.is_older and a.get('features', []) != b.get('features', []):
            self.differ(f'{name}/features', f'features {a.get("features")} here, {b.get("features")} there')
        if a.get('allow-oob', False) != b.get('allow-oob', False):
            self.differ(name, 'out of band only on one side')
        self.type(f'{name}/arg', a['arg-type'], b['arg-type'])
        if a['meta-type'] == 'command':
            self.type(f'{name}/ret', a['ret-type'], b['ret-type'])
        problems, self.problems = self.problems, []
        return problems


def is_other_version(member):
    """Whether a member is one of those in which QEMU 7.2 is another."""
    return any(word in member for word in NEWER) or any(path.endswith('/' + member) for path in OLDER)


def fits(schema, name, value, is_older=False):
    """What is wrong with a value of the type, or None. is_older: between QEMU 7.2 and ours."""
    entry = schema.entries[name]
    if entry['meta-type'] == 'builtin':
        kinds = {'string': str, 'int': int, 'boolean': bool, 'number': (int, float), 'value': object, 'null': type(None)}
        good = isinstance(value, kinds[entry['json-type']])
        if entry['json-type'] in ('int', 'number') and isinstance(value, bool):
            good = False
        return None if good else f'{value!r} is no {name}'
    if entry['meta-type'] == 'enum':
        return None if value in entry['values'] else f'{value!r} is none of {entry["values"]}'
    if entry['meta-type'] == 'alternate':
        problems = [fits(schema, member['type'], value, is_older) for member in entry['members']]
        return None if None in problems else problems[0]
    if entry['meta-type'] == 'array':
        if not isinstance(value, list):
            return f'{value!r} is no list'
        return next(filter(None, (fits(schema, entry['element-type'], element, is_older) for element in value)), None)
    if not isinstance(value, dict):
        return f'{value!r} is no object'
    members = list(entry['members'])
    for variant in entry.get('variants', []):
        if variant['case'] == value.get(entry['tag']):
            members += schema.entries[variant['type']]['members']
    known = {member['name'] for member in members}
    for extra in set(value) - known:
        if not (is_older and is_other_version(extra)):
            return f'{extra!r} is not declared'
    for member in members:
        if member['name'] in value:
            problem = fits(schema, member['type'], value[member['name']], is_older)
            if problem:
                return f'{member["name"]}: {problem}'
        elif 'default' not in member and not (is_older and is_other_version(member['name'])):
            return f'{member["name"]!r} is missing'
    return None


# Some of what the model has.
MACHINE = ('-machine', 'q35', '-object', 'iothread,id=iothread0', '-blockdev', 'null-co,node-name=n0,size=1048576',
           '-device', 'virtio-blk-pci,drive=n0,id=disk0')


class Results:
    """TAP."""

    def __init__(self):
        self.count = self.failed = 0

    def ok(self, name, problems):
        self.count += 1
        self.failed += bool(problems)
        print(f'{"not " if problems else ""}ok {self.count} - {name}')
        for problem in problems:
            print(f'# {problem}')


def named_in_readme():
    """The commands that README says no QEMU has."""
    with open(os.path.join(os.path.dirname(__file__), '..', '..', 'README.md'), encoding='utf-8') as file:
        sentence = file.read().split('there are two that no')[1].split(';')[0]
    return set(re.findall(r'`([a-z-]+)` \(', sentence))


def check_own(results, peer, schema):
    """What we return is what we declare, whatever QEMU does."""
    for command, arguments in shapes(schema):
        value, error = answer(peer, command, arguments)
        problem = None if error else fits(schema, schema.entries[command]['ret-type'], value)
        results.ok(f'{command} {arguments or ""} returns what its schema says', [problem] if problem else [])
    offered = {entry['name'] for entry in peer.call('query-commands')}
    results.ok('the schema has the commands that there are',
               sorted(offered ^ schema.kinds('command')))


def check_qemu(results, peer, schema, program):
    qemu = Qemu(program, *MACHINE)
    try:
        is_older = qemu.version['major'] < 11
        theirs = Schema(qemu.peer.call('query-qmp-schema'))
        comparison = Comparison(schema, theirs, is_older)
        if not is_older:
            results.ok('what no QEMU has is what README names',
                       sorted((schema.kinds('command') - theirs.kinds('command')) ^ named_in_readme()))
        named = {command for command, _ in SHAPES}
        for name in sorted(schema.kinds('command', 'event') & theirs.kinds('command', 'event')):
            if is_older and name in schema.queries() and name not in named:
                continue  # the others are QEMU 11's in all that they have
            results.ok(f'{name} as in QEMU {qemu.version["major"]}.{qemu.version["minor"]}', comparison.entry(name))
        for command, arguments in SHAPES if is_older else shapes(schema):
            if command not in theirs.entries:
                continue
            name = f'{command} {arguments or ""}'
            ours, our_error = answer(peer, command, arguments)
            value, error = answer(qemu.peer, command, arguments)
            if our_error or error:
                same = our_error == error or command in MAY_FAIL
                results.ok(f'{name} fails as in QEMU', [] if same else [f'here {our_error}', f'there {error}'])
                continue
            # What we return, QEMU could have returned: it fits its schema. And the other way round.
            problem = fits(theirs, theirs.entries[command]['ret-type'], ours, is_older)
            results.ok(f'{name} returns what QEMU\'s schema says', [problem] if problem else [])
            problem = fits(schema, schema.entries[command]['ret-type'], value, is_older)
            results.ok(f'{name} of QEMU returns what our schema says', [problem] if problem else [])
    finally:
        qemu.close()


def check(results, server, found):
    peer = Peer(server.path)
    peer.greet()
    schema = Schema(peer.call('query-qmp-schema'))
    check_own(results, peer, schema)
    for program in found:
        check_qemu(results, peer, schema, program)
    if not found:
        results.count += 1
        print(f'ok {results.count} - as in QEMU # SKIP qemu-system-x86_64 is not installed')
    peer.close()


def main():
    results = Results()
    found = programs(OLDEST)
    server = Server(sys.argv[1])
    try:
        check(results, server, found)
    finally:
        status = server.close()
    results.ok('the server ends well', [f'status {status}'] if status else [])
    print(f'1..{results.count}', flush=True)
    sys.exit(1 if results.failed else 0)


main()
