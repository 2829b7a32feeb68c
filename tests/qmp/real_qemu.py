# SPDX-License-Identifier: MIT
"""QEMUs to compare with: which are installed, and one that runs, with a socket to talk to it."""

import glob
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time

from peer import Peer
from processes import innermost


def programs(oldest):
    """$QEMU, or else each that is found and at least of the version `oldest`: qemu-system-x86_64 on the PATH, and in
    folders /opt/qemu-*."""
    if os.environ.get('QEMU'):
        return [os.environ['QEMU']]
    found = [shutil.which('qemu-system-x86_64')]
    # A prefix may hold a system of its own, which only root can enter.
    if os.geteuid() == 0:
        found += sorted(glob.glob('/opt/qemu-*/qemu-system-x86_64') + glob.glob('/opt/qemu-*/bin/qemu-system-x86_64'))
    return [program for program in found if program and version_of(program) >= oldest]


def version_of(program):
    """(7, 2) of QEMU 7.2.22."""
    said = subprocess.run([program, '--version'], stdout=subprocess.PIPE, check=False).stdout.decode()
    number = re.search(r'version (\d+)\.(\d+)', said)
    return tuple(map(int, number.groups())) if number else (0, 0)


class Qemu:
    """A QEMU whose guest does not run; `peer` is greeted."""

    def __init__(self, program, *options):
        # In /tmp, which programs of a system of their own see as well.
        self.folder = tempfile.TemporaryDirectory(prefix='qmp-', dir='/tmp')
        path = os.path.join(self.folder.name, 'sock')
        self.log = open(os.path.join(self.folder.name, 'log'), 'w+', encoding='utf-8')
        self.process = subprocess.Popen([program, '-display', 'none', '-S', *options,
                                         '-qmp', f'unix:{path},server=on,wait=off'],
                                        stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)
        try:
            self.peer = self.connect(path)
            self.version = self.peer.greet()['QMP']['version']['qemu']
        except BaseException:
            self.close()
            raise

    def connect(self, path):
        deadline = time.monotonic() + 60
        while True:
            try:
                return Peer(path)
            except OSError:
                if self.process.poll() is not None or time.monotonic() > deadline:
                    self.log.seek(0)
                    raise RuntimeError(f'QEMU does not start: {self.log.read()}') from None
                time.sleep(0.02)

    def close(self):
        if self.process.poll() is None:
            os.kill(innermost(self.process.pid), signal.SIGKILL)
        self.process.wait()
        self.log.close()
        self.folder.cleanup()
