#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: MIT
# timeout: 300
# builds: plain
# slow
"""A walk that follows all links (hundreds of thousands of paths; the kernel does most of it) ends: no link leads in a circle but those that
the VM has, and those the kernel and find detect.
"""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from lib import Mount, check, equal, main, recorded, run, tests_for


@tests_for(("qemu-11.1-pc", "qemu-7.2-pc"), "find -L of the whole mount ends: {}")
def find_follows(name):
    with Mount(recorded(name)) as mount:
        found = run("find", "-L", mount.path, "-printf", ".", timeout=250)
        check(len(found.stdout) > 10000, f"only {len(found.stdout)} paths")
        lines = found.stderr.decode().splitlines()
        strange = [line for line in lines if "File system loop detected" not in line and "Too many levels" not in line]
        equal(strange, [], "what find complains of")


main()
