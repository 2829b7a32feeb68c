# SPDX-License-Identifier: MIT
"""Checks of a test program: each is one line of TAP; finish() prints the plan, and ends the program as they went."""

import sys

_count = _failed = 0
# As much is shown of each explanation.
_EXPLANATION_MAX = 2000


def ok(condition, name, *why):
    """Where it fails, `why` explains."""
    global _count, _failed
    _count += 1
    _failed += not condition
    print(f'{"" if condition else "not "}ok {_count} - {name}', flush=True)
    for explanation in why if not condition else ():
        print('# ' + str(explanation)[:_EXPLANATION_MAX].replace('\n', '\n# '))


def skip(name, reason):
    global _count
    _count += 1
    print(f'ok {_count} - {name} # SKIP {reason}', flush=True)


def finish():
    print(f'1..{_count}', flush=True)
    sys.exit(1 if _failed else 0)
