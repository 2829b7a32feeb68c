#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Disks that do I/O: block nodes, load on them, what they count, and what becomes of errors. Prints TAP.

usage: disks.py SERVE
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time

from checks import finish, ok
from peer import Peer, Server

running = []  # Vms that are not closed yet
MIB = 1 << 20


def same(name, ours, theirs):
    ok(ours == theirs, name, f'is        {ours}', f'should be {theirs}')


class Vm:
    """A model with some files beside it."""

    def __init__(self, **config):
        self.folder = tempfile.TemporaryDirectory(prefix='disks-', dir='/tmp')
        with open(self.file('vm.json'), 'w') as out:
            json.dump({'disks': [], 'nics': [], 'root-ports': 8, 'iothreads': ['io0', 'io1'], **config}, out)
        self.server = Server(sys.argv[1], self.file('vm.json'))
        running.append(self)
        self.peer = Peer(self.server.path)
        self.peer.message()
        self.call('qmp_capabilities')

    def file(self, name, size=None):
        path = os.path.join(self.folder.name, name)
        if size is not None:
            with open(path, 'wb') as out:
                out.truncate(size)
        return path

    def reply(self, command, **arguments):
        arguments = {name.replace('_', '-'): value for name, value in arguments.items()}
        self.peer.send(json.dumps({'execute': command, 'arguments': arguments}).encode())
        return self.peer.reply()

    def call(self, command, **arguments):
        reply = self.reply(command, **arguments)
        if 'return' not in reply:
            raise AssertionError(f'{command} {arguments}: {reply}')
        return reply['return']

    def error(self, command, **arguments):
        return self.reply(command, **arguments).get('error', {}).get('desc')

    def disk(self, name, iothread=None, node=None, **device):
        """A node (by default of no content), and a disk in front of it."""
        node = node or {'driver': 'null-co', 'size': 64 * MIB}
        self.call('blockdev-add', **{'node-name': f'{name}-node', **node})
        if iothread:
            device['iothread'] = iothread
        self.call('device_add', driver='virtio-blk-pci', id=name, drive=f'{name}-node', **device)

    def entry(self, name):
        return next((entry for entry in self.call('query-blockstats')
                     if entry.get('qdev') == f'/machine/peripheral/{name}/virtio-backend'), None)

    def stats(self, name):
        return self.entry(name)['stats']

    def load(self, name):
        return {entry['name']: entry.get('value')
                for entry in self.call('qom-tree-get', path=f'/objects/{name}')['properties']}

    def run(self, load, **options):
        """Runs a load to its end; returns what it says."""
        self.call('object-add', qom_type='io-load', id=load, **options)
        return self.wait(load)

    def wait(self, load):
        end = time.monotonic() + 60
        while time.monotonic() < end:
            state = self.load(load)
            if state['state'] not in ('running', 'paused'):
                return state
            time.sleep(0.01)
        raise AssertionError(f'{load} does not end: {state}')

    def events(self, name, wait=0):
        """Those of that name that came since the last time."""
        end = time.monotonic() + wait
        while True:
            self.call('query-name')
            found = [event for event in self.peer.events if event['event'] == name]
            if found or time.monotonic() > end:
                break
            time.sleep(0.01)
        self.peer.events = [event for event in self.peer.events if event['event'] != name]
        return [event.get('data') for event in found]

    def close(self):
        running.remove(self)
        status = self.server.close()
        self.folder.cleanup()
        return status


def check_errors():
    """As a QEMU 11.1 words them."""
    vm = Vm()
    plain, folder = vm.file('a.img', MIB), vm.file('folder')
    os.mkdir(folder)
    vm.call('blockdev-add', driver='null-co', node_name='n0', size=MIB)
    before = vm.call('query-named-block-nodes')
    files = os.listdir(f'/proc/{vm.server.process.pid}/fd')
    inner = {'driver': 'file', 'filename': plain}
    for arguments, expected in (
            ({'driver': 'null-co', 'node-name': 'n0'}, "Duplicate nodes with node-name='n0'"),
            ({'driver': 'null-co'}, "'node-name' must be specified for the root node"),
            ({'driver': 'nosuch', 'node-name': 'x'}, "Parameter 'driver' does not accept value 'nosuch'"),
            ({'node-name': 'x'}, "argument 'driver' is missing"),
            ({'driver': 'null-co', 'node-name': '9x'}, "Invalid node-name: '9x'"),
            ({'driver': 'null-co', 'node-name': 'x' * 40}, 'Node name too long'),
            ({'driver': 'null-co', 'node-name': 'x', 'foo': 1}, "Parameter 'foo' is unexpected"),
            ({'driver': 'null-co', 'node-name': 'x', 'latency-ns': -1}, 'latency-ns is invalid'),
            ({'driver': 'null-co', 'node-name': 'x', 'size': 'foo'},
             "Invalid parameter type for 'size', expected: integer"),
            ({'driver': 'null-co', 'node-name': 'x', 'cache': 1},
             "Invalid parameter type for 'cache', expected: object"),
            ({'driver': 'null-co', 'node-name': 'x', 'cache': {'direct': 1}},
             "Invalid parameter type for 'cache.direct', expected: boolean"),
            ({'driver': 'null-co', 'node-name': 'x', 'cache': {'foo': True}}, "Parameter 'cache.foo' is unexpected"),
            ({'driver': 'null-co', 'node-name': 'x', 'discard': 'foo'},
             "Parameter 'discard' does not accept value 'foo'"),
            ({'driver': 'file', 'node-name': 'x'}, "Parameter 'filename' is missing"),
            ({'driver': 'file', 'node-name': 'x', 'filename': 3},
             "Invalid parameter type for 'filename', expected: string"),
            ({'driver': 'file', 'node-name': 'x', 'filename': '/nosuch'},
             "Could not open '/nosuch': No such file or directory"),
            ({'driver': 'file', 'node-name': 'x', 'filename': folder}, f"Could not open '{folder}': Is a directory"),
            ({'driver': 'file', 'node-name': 'x', 'filename': '/dev/null'},
             "'file' driver requires '/dev/null' to be a regular file"),
            ({'driver': 'file', 'node-name': 'x', 'filename': plain, 'aio': 'native'},
             'aio=native was specified, but it requires cache.direct=on, which was not specified.'),
            ({'driver': 'file', 'node-name': 'x', 'filename': '/proc/self/status', 'cache': {'direct': True},
              'read-only': True}, "Could not open '/proc/self/status': filesystem does not support O_DIRECT"),
            ({'driver': 'raw', 'node-name': 'x'}, "Parameter 'file' is missing"),
            ({'driver': 'raw', 'node-name': 'x', 'file': 'nosuch'},
             "Cannot find device='nosuch' nor node-name='nosuch'"),
            ({'driver': 'raw', 'node-name': 'x', 'file': 3}, "Invalid parameter type for 'file', expected: BlockdevRef"),
            ({'driver': 'raw', 'node-name': 'x', 'file': {'driver': 'file'}}, "Parameter 'file.filename' is missing"),
            ({'driver': 'raw', 'node-name': 'x', 'file': {'filename': 'a'}}, "Parameter 'file.driver' is missing"),
            ({'driver': 'raw', 'node-name': 'x', 'file': {**inner, 'foo': 1}}, "Parameter 'file.foo' is unexpected"),
            ({'driver': 'raw', 'node-name': 'x', 'file': {**inner, 'node-name': 'x'}},
             "Duplicate nodes with node-name='x'"),
            ({'driver': 'raw', 'node-name': 'x', 'file': {**inner, 'node-name': 'n0'}},
             "Duplicate nodes with node-name='n0'"),
            ({'driver': 'raw', 'node-name': 'x', 'file': inner, 'offset': 512, 'size': MIB},
             'The sum of offset (512) and size (1048576) has to be smaller or equal to the  actual size of the '
             'containing file (1048576)'),
            ({'driver': 'raw', 'node-name': 'x', 'file': inner, 'offset': 2 * MIB},
             'Offset (2097152) cannot be greater than size of the containing file (1048576)'),
            ({'driver': 'raw', 'node-name': 'x', 'file': inner, 'size': 100}, 'Specified size is not multiple of 512')):
        same(f'blockdev-add {json.dumps(arguments)[:90]}', vm.error('blockdev-add', **arguments), expected)
    same('nothing half-done remains: nodes', vm.call('query-named-block-nodes'), before)
    same('nothing half-done remains: files', len(os.listdir(f'/proc/{vm.server.process.pid}/fd')), len(files))

    vm.call('blockdev-add', driver='raw', node_name='r0', file={**inner, 'node-name': 'f0'})
    vm.call('blockdev-add', driver='raw', node_name='r1', file='n0')
    vm.call('device_add', driver='virtio-blk-pci', id='d0', drive='r0')
    same('blockdev-del: none', vm.error('blockdev-del', node_name='x'), "Failed to find node with node-name='x'")
    same('blockdev-del: a disk has it', vm.error('blockdev-del', node_name='r0'), 'Node r0 is in use')
    same('blockdev-del: it came with another', vm.error('blockdev-del', node_name='f0'),
         'Node f0 is not owned by the monitor')
    same('blockdev-del: another stands on it', vm.error('blockdev-del', node_name='n0'), 'Block device n0 is in use')
    conflict = ("Permission conflict on node '{0}': permissions 'write' are both required by {1} and unshared by block "
                "device '/machine/peripheral/d1/virtio-backend' (uses node '{0}' as 'root' child).")
    same('device_add: a disk has it', vm.error('device_add', driver='virtio-blk-pci', id='d1', drive='r0'),
         conflict.format('r0', "block device '/machine/peripheral/d0/virtio-backend' (uses node 'r0' as 'root' child)"))
    same('device_add: what a disk has stands on it', vm.error('device_add', driver='virtio-blk-pci', id='d1', drive='f0'),
         conflict.format('f0', "node 'r0' (uses node 'f0' as 'file' child)"))
    same('device_add: a bad interval', vm.error('device_add', driver='virtio-blk-pci', id='d1', drive='r1',
                                                stats_intervals=[0]), 'Invalid interval length: 0')
    vm.call('device_del', id='d0')
    for node in ('r0', 'r1', 'n0'):
        vm.call('blockdev-del', node_name=node)
    same('all nodes are gone', vm.call('query-named-block-nodes'), [])
    same('all files are closed', len(os.listdir(f'/proc/{vm.server.process.pid}/fd')), len(files))
    for options, expected in (
            ({}, "Parameter 'disk' is missing"),
            ({'disk': 'nosuch'}, "Device 'nosuch' not found, or it is not a disk"),
            ({'disk': 'd0', 'pattern': 'foo'}, "Parameter 'pattern' does not accept value 'foo'"),
            ({'disk': 'd0', 'block-size': 1000}, "Parameter 'block-size' expects a multiple of 512"),
            ({'disk': 'd0', 'limit': 1000}, "Parameter 'limit' expects a multiple of block-size (4096)"),
            ({'disk': 'd0', 'nosuch': 1}, "Parameter 'nosuch' is unexpected")):
        error = vm.error('object-add', qom_type='io-load', id='l', **options)
        ok(error == expected, f'object-add io-load {options}', error)
    same('it ends well', vm.close(), 0)


PATTERNS = ('read', 'write', 'randread', 'randwrite')


def check_counters():
    """To the byte, for every pattern, where the I/O is done and whatever holds the content."""
    vm = Vm()
    plain = vm.file('a.img', 16 * MIB)
    nodes = {'null': {'driver': 'null-co', 'size': 16 * MIB},
             'file': {'driver': 'raw', 'file': {'driver': 'file', 'filename': plain}},
             'direct': {'driver': 'raw', 'cache': {'direct': True}, 'file': {'driver': 'file', 'filename': plain}},
             'odd': {'driver': 'raw', 'offset': 1536, 'size': 4 * MIB, 'cache': {'direct': True},
                     'file': {'driver': 'file', 'filename': plain}}}
    for kind, node in nodes.items():
        for iothread in (None, 'io0'):
            for pattern in PATTERNS:
                vm.disk('d', iothread, node)
                said = vm.run('l', disk='d', pattern=pattern, block_size=8192, limit=2 * MIB, queue_depth=4, fsync=8)
                stats, entry = vm.stats('d'), vm.entry('d')
                short = 'wr' if 'write' in pattern else 'rd'
                name = f'{pattern}, {kind}, {iothread or "main loop"}'
                same(f'{name}: the load did all', (said['state'], said['bytes'], said['operations'], said['errors']),
                     ('done', 2 * MIB, 256, 0))
                same(f'{name}: the disk counted it', (stats[f'{short}_bytes'], stats[f'{short}_operations']),
                     (said['bytes'], said['operations']))
                same(f'{name}: flushes', (stats['flush_operations'], said['flushes']),
                     (32, 32) if short == 'wr' else (0, 0))
                ok(stats[f'{short}_total_time_ns'] > 0 and stats.get('idle_time_ns', 0) >= 0, f'{name}: times', stats)
                highest = {'rd': 0, 'wr': 2 * MIB}[short]
                if 'rand' not in pattern:
                    same(f'{name}: highest offset', stats['wr_highest_offset'], highest)
                if 'parent' in entry:
                    below = entry['parent']['stats']
                    same(f'{name}: highest offset below', below['wr_highest_offset'],
                         stats['wr_highest_offset'] + node.get('offset', 0) if short == 'wr' else 0)
                    same(f'{name}: nothing else below', (below['wr_bytes'], below['rd_bytes']), (0, 0))
                ok(0 < said['latency-p50'] <= said['latency-p99'] <= said['latency-p99.9'], f'{name}: latencies', said)
                vm.call('object-del', id='l')
                vm.call('device_del', id='d')
                vm.call('blockdev-del', node_name='d-node')
    same('it ends well', vm.close(), 0)


def check_file():
    """What the file itself says of writes."""
    vm = Vm()
    path = vm.file('w.img', 8 * MIB)
    vm.disk('d', 'io0', {'driver': 'raw', 'discard': 'unmap', 'file': {'driver': 'file', 'filename': path}})
    said = vm.run('l', disk='d', pattern='write', block_size=4096, limit=MIB, fsync=1)
    with open(path, 'rb') as file:
        content = file.read()
    written = len(content) - content.count(0)
    same('bytes in the file', (written, len(content)), (said['bytes'], 8 * MIB))
    same('where they are', content[:MIB].count(0), 0)
    image = vm.call('query-named-block-nodes')[0]['image']
    same('its size on the disk', image['actual-size'], os.stat(path).st_blocks * 512)
    vm.call('object-del', id='l')
    os.unlink(path)
    said = vm.run('l', disk='d', pattern='read', block_size=4096, limit=MIB)
    same('a file that was removed is read still', (said['state'], said['bytes']), ('done', MIB))
    same('it ends well', vm.close(), 0)


def until(condition, seconds=30):
    """Waits until condition() is true, and returns what it gave last."""
    end = time.monotonic() + seconds
    while not (result := condition()) and time.monotonic() < end:
        time.sleep(0.01)
    return result


def all_traced(pid):
    """Whether somebody traces each thread."""
    for task in os.listdir(f'/proc/{pid}/task'):
        with open(f'/proc/{pid}/task/{task}/status', encoding='ascii') as status:
            if 'TracerPid:\t0\n' in status.read():
                return False
    return True


def check_strace():
    """What the kernel says of writes."""
    vm = Vm()
    path, trace = vm.file('w.img', 8 * MIB), vm.file('trace')
    if subprocess.run(['sh', '-c', 'command -v strace'], capture_output=True, check=False).returncode:
        print('# there is no strace')
        return
    vm.disk('d', None, {'driver': 'raw', 'file': {'driver': 'file', 'filename': path}})
    vm.run('warm', disk='d', pattern='read', limit=4096)  # its thread is there
    with subprocess.Popen(['strace', '-f', '-qq', '-e', 'trace=pwrite64', '-o', trace, '-p', str(vm.server.process.pid)],
                          stderr=subprocess.DEVNULL) as strace:
        until(lambda: strace.poll() is not None or all_traced(vm.server.process.pid))
        said = vm.run('l', disk='d', pattern='randwrite', block_size=16384, limit=64 * 16384)
        strace.terminate()
        strace.wait(timeout=20)
    with open(trace) as lines:
        sizes = [int(line.rsplit('= ', 1)[1]) for line in lines if 'pwrite64' in line and '= ' in line]
    same('strace saw the same writes', (sum(sizes), len(sizes)), (said['bytes'], said['operations']))
    same('and the disk counted them', vm.stats('d')['wr_bytes'], sum(sizes))
    same('it ends well', vm.close(), 0)


def check_moments():
    """Readings during load: of one moment, always."""
    vm = Vm()
    for name, iothread in (('d0', None), ('d1', 'io0')):
        vm.disk(name, iothread)
        for pattern in ('read', 'randwrite'):
            vm.call('object-add', qom_type='io-load', id=f'{name}-{pattern}', disk=name, pattern=pattern,
                    block_size=4096, queue_depth=4)
    start = time.monotonic()
    readings, torn, last = 0, [], {}
    while time.monotonic() < start + 2 or readings <= 100 and time.monotonic() < start + 60:
        for entry in vm.call('query-blockstats'):
            stats, qdev = entry['stats'], entry['qdev']
            for kind in ('rd', 'wr'):
                if stats[f'{kind}_operations'] * 4096 != stats[f'{kind}_bytes']:
                    torn.append(stats)
                if stats[f'{kind}_bytes'] < last.get((qdev, kind), 0):
                    torn.append(stats)
                last[qdev, kind] = stats[f'{kind}_bytes']
            readings += 1
        load = vm.load('d0-read')
        if load['operations'] * 4096 != load['bytes']:
            torn.append(load)
    ok(not torn and readings > 100 and min(last.values()) > 0, f'{readings} readings under load are of one moment',
       torn[:2], last)
    same('it ends well under load', vm.close(), 0)


def check_rate():
    vm = Vm()
    vm.disk('d')
    vm.call('object-add', qom_type='io-load', id='l', disk='d', rate=200)
    rates = []
    while not rates or len(rates) < 4 and not 190 <= rates[-1] <= 210:  # a busy machine may be late to look
        start, before = time.monotonic(), vm.load('l')['operations']
        time.sleep(1)
        rates.append((vm.load('l')['operations'] - before) / (time.monotonic() - start))
    ok(190 <= rates[-1] <= 210, 'a rate of 200 requests a second', rates)
    vm.call('stop')
    time.sleep(0.1)
    before = vm.load('l')
    time.sleep(0.3)
    same('a VM that is stopped does nothing', (vm.load('l')['operations'], before['state']),
         (before['operations'], 'paused'))
    vm.call('cont')
    ok(until(lambda: vm.load('l')['operations'] > before['operations']), 'and goes on')
    vm.call('object-del', id='l')
    before = vm.stats('d')['rd_operations']
    time.sleep(0.3)
    same('object-del ends it', vm.stats('d')['rd_operations'], before)

    vm.disk('slow', node={'driver': 'null-co', 'latency-ns': 5000000})
    said = vm.run('l', disk='slow', limit=40960)
    ok(4900000 <= said['latency-p50'] < 100000000, 'a node that takes 5 ms', said)
    vm.disk('timed', stats_intervals=[60, 3600])
    said = vm.run('t', disk='timed', pattern='write', limit=40960)
    timed = vm.stats('timed')['timed_stats']
    same('timed_stats', [entry['interval_length'] for entry in timed], [60, 3600])
    ok(all(0 < entry['min_wr_latency_ns'] <= entry['avg_wr_latency_ns'] <= entry['max_wr_latency_ns'] and
           entry['max_rd_latency_ns'] == 0 and entry['avg_wr_queue_depth'] > 0 for entry in timed), 'their values', timed)
    same('it ends well', vm.close(), 0)


def check_faults():
    """Errors of a file are counted, told, and end nothing."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (4 * MIB, resource.RLIM_INFINITY))
    try:
        vm = Vm()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    path = vm.file('a.img')
    with open(path, 'wb') as out:
        out.truncate(8 * MIB)
    raw = {'driver': 'raw', 'file': {'driver': 'file', 'filename': path}}
    vm.disk('d', 'io0', raw)
    said = vm.run('l', disk='d', pattern='write', block_size=MIB, queue_depth=1)
    stats = vm.stats('d')
    same('a write that fails', (said['state'], said['errors'], said['bytes']), ('failed', 1, 4 * MIB))
    same('is counted', (stats['failed_wr_operations'], stats['wr_bytes'], stats['wr_operations']), (1, 4 * MIB, 4))
    same('and told', vm.events('BLOCK_IO_ERROR', 30),
         [{'device': '', 'node-name': 'd-node', 'qom-path': '/machine/peripheral/d/virtio-backend',
           'operation': 'write', 'action': 'report', 'reason': 'File too large'}])
    same('the VM goes on', vm.call('query-status')['status'], 'running')
    vm.call('object-del', id='l')
    said = vm.run('l', disk='d', pattern='read', block_size=MIB, limit=2 * MIB)
    same('and so does the disk', (said['state'], said['bytes']), ('done', 2 * MIB))

    vm.disk('ro', None, {**raw, 'read-only': True})
    said = vm.run('l1', disk='ro', pattern='write', limit=4096)
    same('what is read-only', (said['state'], vm.stats('ro')['failed_wr_operations']), ('failed', 1))
    vm.disk('small', None, {'driver': 'null-co', 'size': 4096})
    said = vm.run('l2', disk='small', pattern='read', block_size=8192)
    stats = vm.stats('small')
    same('a request beyond the end is invalid',
         (said['state'], stats['invalid_rd_operations'], stats['failed_rd_operations'], stats['rd_total_time_ns']),
         ('failed', 1, 0, 0))
    ok(until(lambda: 'idle_time_ns' in vm.stats('small')), 'and an access', stats)
    vm.disk('quiet', None, {'driver': 'null-co', 'size': 4096}, account_invalid='off', account_failed='off')
    vm.run('l3', disk='quiet', pattern='read', block_size=8192)
    stats = vm.stats('quiet')
    same('unless that is not wanted', ('idle_time_ns' in stats, stats['account_invalid'], stats['account_failed']),
         (False, False, False))
    vm.events('BLOCK_IO_ERROR')

    vm.disk('stop', 'io1', raw, werror='stop', share_rw=True)
    vm.call('object-add', qom_type='io-load', id='l4', disk='stop', pattern='write', block_size=MIB)
    told = vm.events('BLOCK_IO_ERROR', 30)
    same('werror=stop', [(event['action'], event['nospace']) for event in told], [('stop', False)])
    same('stops the VM', vm.call('query-status')['status'], 'io-error')
    same('and says so', [disk['io-status'] for disk in vm.call('query-block') if '/stop/' in disk['qdev']], ['failed'])
    same('nothing has failed yet', (vm.load('l4')['errors'], vm.stats('stop')['failed_wr_operations']), (0, 0))
    vm.call('cont')
    ok(vm.events('BLOCK_IO_ERROR', 30), 'it is tried again')
    vm.call('device_del', id='stop')
    vm.events('DEVICE_DELETED', 30)
    same('its disk can go', vm.wait('l4')['state'], 'disk-gone')
    same('it ends well', vm.close(), 0)


def check_full():
    """A file system that is full."""
    folder = tempfile.mkdtemp(prefix='disks-full-', dir='/tmp')
    if subprocess.run(['mount', '-t', 'tmpfs', '-o', 'size=1M', 'tmpfs', folder], capture_output=True,
                      check=False).returncode:
        os.rmdir(folder)
        print('# no tmpfs can be mounted here')
        return
    try:
        path = os.path.join(folder, 'a.img')
        with open(path, 'wb') as out:
            out.truncate(4 * MIB)
        vm = Vm()
        vm.disk('d', None, {'driver': 'raw', 'file': {'driver': 'file', 'filename': path}}, werror='report')
        said = vm.run('l', disk='d', pattern='write', block_size=65536)
        same('no space', (said['state'], vm.stats('d')['failed_wr_operations']), ('failed', 1))
        same('is told', [event['reason'] for event in vm.events('BLOCK_IO_ERROR', 30)], ['No space left on device'])
        vm.call('device_del', id='d')
        vm.call('device_add', driver='virtio-blk-pci', id='d', drive='d-node')
        vm.call('object-add', qom_type='io-load', id='l1', disk='d', pattern='write', block_size=65536, limit=2 * MIB)
        same('by default it stops the VM', [event.get('nospace') for event in vm.events('BLOCK_IO_ERROR', 30)], [True])
        same('for want of space', [disk['io-status'] for disk in vm.call('query-block')], ['nospace'])
        subprocess.run(['mount', '-o', 'remount,size=8M', folder], check=True)
        vm.call('cont')
        said = vm.wait('l1')
        same('with more of it, it goes on', (said['state'], said['bytes'], said['errors']), ('done', 2 * MIB, 0))
        same('as if nothing had been', [disk['io-status'] for disk in vm.call('query-block')], ['ok'])
        same('it ends well', vm.close(), 0)
    finally:
        subprocess.run(['umount', '-l', folder], check=False)
        os.rmdir(folder)


def check_removal():
    """Everything may go while I/O is under way."""
    vm = Vm()
    path = vm.file('a.img', 8 * MIB)
    file = {'driver': 'raw', 'file': {'driver': 'file', 'filename': path}}
    slow = {'driver': 'null-co', 'latency-ns': 300000000}
    for i in range(30):
        node = (file, slow, None)[i % 3]
        vm.disk('d', ('io0', None)[i % 2], node)
        vm.call('object-add', qom_type='io-load', id='l', disk='d', pattern=PATTERNS[i % 4], queue_depth=8)
        vm.call('device_del', id='d')
        if node is slow:
            same(f'round {i}: twice', vm.error('device_del', id='d'), 'Device d is already in the process of unplug')
            same(f'round {i}: its node is in use', vm.error('blockdev-del', node_name='d-node'), 'Node d-node is in use')
            same(f'round {i}: no new load', vm.error('object-add', qom_type='io-load', id='m', disk='d'),
                 "Device 'd' is in the process of unplug")
        deleted = []
        while {'device': 'd', 'path': '/machine/peripheral/d'} not in deleted:
            deleted += vm.events('DEVICE_DELETED', 30) or [None]
            if None in deleted:
                break
        ok(None not in deleted, f'round {i}: the disk goes when its I/O is done', deleted)
        vm.call('blockdev-del', node_name='d-node')
        same(f'round {i}: the load says so', vm.wait('l')['state'], 'disk-gone')
        vm.call('object-del', id='l')
    vm.disk('d', 'io0', file)
    vm.call('object-add', qom_type='io-load', id='l', disk='d', queue_depth=4)
    thread = next(thread['thread-id'] for thread in vm.call('query-iothreads') if thread['id'] == 'io0')
    vm.call('object-del', id='io0')
    before = vm.load('l')['operations']
    ok(until(lambda: vm.load('l')['operations'] > before) and os.path.exists(f'/proc/{vm.server.process.pid}/task/{thread}'),
       'as in QEMU, an iothread that is removed works on for its disks')
    vm.call('device_del', id='d')
    vm.wait('l')
    vm.call('object-del', id='l')
    ok(until(lambda: not os.path.exists(f'/proc/{vm.server.process.pid}/task/{thread}')), 'and ends with the last of them')
    for i in range(200):
        vm.call('object-add', qom_type='iothread', id='io0')
        vm.call('object-del', id='io0')
    same('it ends well', vm.close(), 0)


def cpu_time(pid, thread):
    with open(f'/proc/{pid}/task/{thread}/stat') as stat:
        fields = stat.read().rsplit(')', 1)[1].split()
    return int(fields[11]) + int(fields[12])


def check_loops():
    """A disk on an iothread never runs on the main loop."""
    vm = Vm()
    vm.disk('d', 'io0')
    pid = vm.server.process.pid
    threads = {thread['id']: thread['thread-id'] for thread in vm.call('query-iothreads')}
    main = [int(t) for t in os.listdir(f'/proc/{pid}/task') if open(f'/proc/{pid}/task/{t}/comm').read().strip() == 'vm']
    looked_at = main[0], threads['io0'], threads['io1']
    before = [cpu_time(pid, thread) for thread in looked_at]
    vm.call('object-add', qom_type='io-load', id='l', disk='d', queue_depth=4)
    until(lambda: cpu_time(pid, threads['io0']) - before[1] > 40, 60)
    spent = [cpu_time(pid, thread) - earlier for thread, earlier in zip(looked_at, before)]
    # What the main loop spends is its clock's.
    ok(spent[1] > 40 and spent[0] <= max(2, spent[1] / 10) and spent[2] == 0, 'its iothread does all', spent)
    same('it ends well', vm.close(), 0)


for check in (check_errors, check_counters, check_file, check_strace, check_moments, check_rate, check_faults, check_full,
              check_removal, check_loops):
    print(f'# {check.__name__}: {check.__doc__ or ""}'.splitlines()[0], flush=True)
    try:
        check()
    except Exception as error:  # noqa: it is to be shown, and the others are to run
        ok(False, check.__name__, f'{type(error).__name__}: {error}')
    for left in list(running):
        left.close()
finish()
