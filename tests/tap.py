# SPDX-License-Identifier: MIT
"""TAP, the Test Anything Protocol: the one place that writes it, reads it and counts.

Imported by unit/run, mount/run and style/run. As a program, `tap.py FILE...` adds up what
these printed, ends in the line `N passed, N failed, N skipped`, and exits with 1 if any
failed or none ran. What is understood of TAP is described in README.md beside this file.
"""

import re
import signal
import sys
from dataclasses import dataclass, field
from pathlib import Path

RESULT = re.compile(r'(?P<bad>not )?ok\b(?: +\d+)?(?: *-)? *(?P<text>.*)')
DIRECTIVE = re.compile(r'(?P<name>.*?)(?<!\\)# *(?P<word>SKIP|TODO)\S*\s*(?P<reason>.*)', re.IGNORECASE)
PLAN = re.compile(r'1\.\.(?P<count>\d+)(?: *# *SKIP\S*\s*(?P<reason>.*))?', re.IGNORECASE)


@dataclass
class Result:
    """One test's outcome: 'passed', 'failed' or 'skipped'; detail is the reason or the explanation."""
    name: str
    outcome: str
    detail: list = field(default_factory=list)


class Reader:
    """Takes a program's output line by line; finish() adds what the program as a whole did wrong."""

    def __init__(self):
        self.results = []
        self.plan = None
        self.planned_skip = None
        self.comments = []
        self.bail_out = None

    def feed(self, line):
        """Returns the Result that this line holds, or None."""
        line = line.rstrip('\r\n')
        if line.startswith('#'):
            explained = self.results[-1].detail if self.explains_last() else self.comments
            explained.append(line[1:].strip())
        elif line.startswith('Bail out!'):
            self.bail_out = line
        elif match := PLAN.fullmatch(line.rstrip()):
            self.plan = int(match['count'])
            self.planned_skip = match['reason']
        elif match := RESULT.fullmatch(line):
            return self._result(match)
        return None

    def explains_last(self):
        """Whether a comment that comes now explains the last result: it failed. Others may explain the next one."""
        return bool(self.results) and self.results[-1].outcome == 'failed'

    def _result(self, match):
        name, outcome, detail = match['text'].strip(), 'failed' if match['bad'] else 'passed', []
        if directive := DIRECTIVE.fullmatch(match['text']):
            name = directive['name'].strip()
            if directive['word'].upper() == 'SKIP':
                outcome, detail = 'skipped', [directive['reason'] or 'no reason given']
            # TODO excuses nothing: what does not work yet is a failure, or is not tested.
        if outcome == 'failed':
            detail = self.comments
        self.comments = []
        result = Result(name or f'test {len(self.results) + 1}', outcome, detail)
        self.results.append(result)
        return result

    def finish(self, status, killed_after=None):
        """status: as subprocess has it (negative: a signal). Returns the Results to add, failures of the whole."""
        wrong = []
        if killed_after is not None:
            wrong.append(f'killed after {killed_after:g} seconds')
        elif status < 0:
            wrong.append(f'killed by {signal_name(-status)}')
        elif status != 0 and all(result.outcome != 'failed' for result in self.results):
            wrong.append(f'exit status {status} without a failed test')
        if self.bail_out:
            wrong.append(self.bail_out)
        if self.plan is None:
            wrong.append('no plan: the line 1..N is missing')
        elif self.plan != len(self.results):
            wrong.append(f'planned {self.plan} tests, ran {len(self.results)}')
        if not wrong and self.plan == 0:
            if self.planned_skip is None:
                wrong.append('ran no test')
            else:
                return [Result('all of it', 'skipped', [self.planned_skip or 'no reason given'])]
        return [Result('as a whole', 'failed', wrong + self.comments)] if wrong else []


class Writer:
    """Prints results, numbered, each at once."""

    def __init__(self, out=sys.stdout):
        self.out = out
        self.count = 0
        self.failed = 0

    def ok(self, good, name, *detail):
        """The detail is printed only if the test is not good: it explains why."""
        self.result(Result(name, 'passed' if good else 'failed', list(detail)))

    def skip(self, name, reason):
        self.result(Result(name, 'skipped', [reason]))

    def result(self, result):
        self.count += 1
        name = result.name.replace('#', '\\#')
        if result.outcome == 'failed':
            self.failed += 1
            print(f'not ok {self.count} - {name}', file=self.out)
            for block in result.detail:
                for line in str(block).splitlines():
                    self.comment(line)
        elif result.outcome == 'skipped':
            print(f'ok {self.count} - {name} # SKIP {result.detail[0]}', file=self.out)
        else:
            print(f'ok {self.count} - {name}', file=self.out)
        self.out.flush()

    def comment(self, text):
        """Explains the last result, if that failed."""
        print(f'# {printable(text)}', file=self.out, flush=True)

    def say(self, text):
        """To who watches; no part of the results."""
        print(f'-- {printable(text)}', file=self.out, flush=True)

    def done(self):
        """Prints the plan; returns the exit status."""
        print(f'1..{self.count}', file=self.out, flush=True)
        return 1 if self.failed or not self.count else 0


def printable(text):
    """What a program printed, safe to show on a terminal."""
    return ''.join(c if c.isprintable() or c == '\t' else f'\\x{ord(c):02x}' for c in text)


def signal_name(number):
    try:
        return signal.Signals(number).name
    except ValueError:
        return f'signal {number}'


def summary(paths):
    """Adds up files of TAP; returns the exit status."""
    results = []
    for path in paths:
        reader = Reader()
        with open(path, encoding='utf-8', errors='replace') as lines:
            for line in lines:
                reader.feed(line)
        # The programs that wrote these files are ours and print no plan only if they died.
        for result in reader.results + reader.finish(0 if reader.plan is not None else 1):
            result.name = f'{Path(path).stem}: {result.name}'
            results.append(result)
    for word in ('skipped', 'failed'):
        chosen = [result for result in results if result.outcome == word]
        if chosen:
            print(f'\n{word}:')
        for result in chosen:
            print(f'  {result.name}' + ('' if word == 'failed' else f': {result.detail[0]}'))
            if word == 'failed':
                for line in result.detail[-20:]:
                    print(f'      {line}')
    count = {word: sum(result.outcome == word for result in results) for word in ('passed', 'failed', 'skipped')}
    print(f'\n{count["passed"]} passed, {count["failed"]} failed, {count["skipped"]} skipped', flush=True)
    return 1 if count['failed'] or not count['passed'] else 0


if __name__ == '__main__':
    sys.exit(summary(sys.argv[1:]))
