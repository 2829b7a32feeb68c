# SPDX-License-Identifier: MIT
"""Real QEMUs for the cases of the live source: which are installed, and one that runs."""

import glob
import os
import shutil
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "qmp"))
from lib import Failed, run, until
from peer import Peer
from processes import innermost

# Sockets and images stand in /tmp itself: a QEMU that was installed in a folder of its own sees that alone.
ROOM = "/tmp"


def installed():
    """The QEMUs by version: $QEMU alone, or Debian's and those in /opt."""
    named = os.environ.get("QEMU")
    found = {}
    for program in [named] if named else ["qemu-system-x86_64", *sorted(glob.glob("/opt/qemu-*/qemu-system-x86_64"))]:
        if shutil.which(program):
            words = run(program, "--version").stdout.decode().split()
            found[".".join(words[3].split(".")[:2])] = program
    return found


QEMUS = installed()
# Those that are compared in full; what is older has too little in common with the others.
VERSIONS = [version for version in QEMUS if version != "5.2"]
RICH = """-M q35 -smp 4,sockets=1,cores=4,threads=1 -cpu Skylake-Server -m 512
  -object iothread,id=iothread0 -object memory-backend-ram,id=ram1,size=16M
  -object rng-random,id=objrng0,filename=/dev/urandom -object secret,id=sec0,data=swordfish
  -device pcie-root-port,id=rp1,chassis=1 -device pcie-root-port,id=rp2,chassis=2
  -blockdev driver=null-co,node-name=drive0,read-zeroes=on -device virtio-blk-pci,id=disk0,drive=drive0,iothread=iothread0
  -blockdev driver=raw,node-name=raw0,file.driver=null-co,file.read-zeroes=on
  -device virtio-scsi-pci,id=scsi0 -device scsi-hd,id=disk1,drive=raw0
  -netdev user,id=net0,restrict=on -device virtio-net-pci,netdev=net0,id=nic0,mac=52:54:00:12:34:56
  -device virtio-balloon-pci,id=balloon0 -device virtio-rng-pci,rng=objrng0,id=rng0
  -device qemu-xhci,id=usb0 -device usb-tablet,id=tablet0 -chardev null,id=char0 -serial chardev:char0
  -device virtio-serial-pci,id=vser0 -chardev null,id=ga0
  -device virtserialport,chardev=ga0,name=org.qemu.guest_agent.0,id=gaport0""".split()


class Qemu:
    """A QEMU that is stopped (-S), with a socket to be mounted and one to look at it beside: with Qemu(...) as q."""

    def __init__(self, version, *machine):
        self.folder = tempfile.mkdtemp(prefix="qomfs-live-", dir=ROOM)
        self.target, self.other = os.path.join(self.folder, "target"), os.path.join(self.folder, "other")
        self.command = [QEMUS[version], "-display", "none", "-S", "-name", "live-vm", *machine]
        for path in (self.target, self.other):
            self.command += ["-qmp", f"unix:{path},server=on,wait=off"]
        self.start()

    def start(self):
        for path in (self.target, self.other):
            if os.path.exists(path):
                os.unlink(path)
        self.log = open(os.path.join(self.folder, "log"), "wb")
        self.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log,
                                        start_new_session=True)
        self.qmp = None
        until(lambda: self.listens() or self.process.poll() is not None, 30)
        if self.qmp is None:
            self.process.kill()
            raise Failed(f"QEMU does not start: {open(self.log.name).read()!r}")

    def listens(self):
        try:
            self.qmp = Peer(self.other, patience=60)
            self.qmp.greet()
        except OSError:  # the file is there before anybody listens
            return False
        return True

    def signal(self, number):
        os.kill(innermost(self.process.pid), number)

    def kill(self):
        self.signal(signal.SIGKILL)
        self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        if self.process.poll() is None:
            self.signal(signal.SIGCONT)
            self.kill()
        self.log.close()
        shutil.rmtree(self.folder, ignore_errors=True)
