# SPDX-License-Identifier: MIT
"""What unit/run and mount/run know of a build folder: its kind, and the environment and patience that the kind needs."""

import ctypes
import json
import os
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent

# How many times longer than a plain build a test may take.
PATIENCE = {'plain': 1, 'asan': 3, 'tsan': 10}

# What a sanitizer's run-time library is told; the log is where a daemon, whose standard error is gone, reports to.
SANITIZER_OPTIONS = {
    'ASAN_OPTIONS': 'detect_leaks=1:detect_stack_use_after_return=1:strict_string_checks=1:check_initialization_order=1',
    'UBSAN_OPTIONS': 'halt_on_error=1:print_stacktrace=1',
    'TSAN_OPTIONS': 'second_deadlock_stack=1:history_size=4',
}


def build_kind(build):
    """plain, asan or tsan, as the build folder was configured; raises OSError where it is none."""
    options = json.loads((Path(build) / 'meson-info' / 'intro-buildoptions.json').read_text(encoding='utf-8'))
    sanitizers = str(next((option['value'] for option in options if option['name'] == 'b_sanitize'), 'none'))
    return 'tsan' if 'thread' in sanitizers else 'asan' if 'address' in sanitizers else 'plain'


def binary(build):
    """The path of qomfs in a build folder, None if the folder knows of none; it need not be built yet."""
    try:
        targets = json.loads((Path(build) / 'meson-info' / 'intro-targets.json').read_text(encoding='utf-8'))
    except OSError:
        return None
    return next((target['filename'][0] for target in targets
                 if target['name'] == 'qomfs' and target['type'] == 'executable'), None)


def environment(kind, log=None):
    """The variables that tests of such a build run with, beside those that this process has."""
    variables = dict(SANITIZER_OPTIONS)
    if log:
        variables = {name: f'{value}:log_path={log}' for name, value in variables.items()}
    variables['KIND'] = kind
    if kind != 'plain':
        variables['G_SLICE'] = 'always-malloc'  # GLib's own pools would hide errors from the sanitizers
    return variables


def fix_addresses():
    """Children get no random addresses: ThreadSanitizer of gcc 12 ends at once where the kernel randomises many bits."""
    personality_no_random_addresses = 0x0040000
    ctypes.CDLL(None).personality(personality_no_random_addresses)
