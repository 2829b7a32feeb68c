#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Records from a QEMU what its CPU models are: vmm/data/cpu-models.json, what the features of vmm/data/cpu-features.json
need ("needs", "kvm-only", "levels", "raises"), and tests/data/qemu-VERSION.cpu-expansion.json, what it answers for each.

usage: record-cpus.py QEMU VERSION

All of it is asked of query-cpu-model-expansion: a model's own values show when whatever they need is switched on.
"""

import json
import os
import sys
import textwrap
from collections import Counter

sys.path.insert(0, os.path.join(os.path.dirname(__file__), '..', 'qmp'))

from real_qemu import Qemu  # noqa: E402

ROOT = os.path.join(os.path.dirname(__file__), '..', '..')
DATA = os.path.join(ROOT, 'vmm', 'data')
LEVELS = {'min-level': 'level', 'min-xlevel': 'xlevel', 'min-xlevel2': 'xlevel2'}
MPX, APX = 'mpx', 'apxf'  # the one pair that excludes each other


def read(name):
    with open(os.path.join(DATA, name), encoding='utf-8') as file:
        return json.load(file)


class Recorder:
    def __init__(self, qmp):
        self.qmp = qmp
        self.base = self.full('base')
        features = read('cpu-features.json')
        self.words, self.aliases, seen = features['words'], features['aliases'], set()
        self.names = []  # one of each feature
        for word in self.words:
            for names in word['bits'].values():
                self.names.append(names if isinstance(names, str) else names[0])
        self.names += [name for name in features['options'] if isinstance(self.base[name], bool)]
        self.names = [name for name in self.names if name in self.base and not (name in seen or seen.add(name))]

    def expand(self, how, model, props):
        return self.qmp.call('query-cpu-model-expansion', type=how, model={'name': model, 'props': props})['model']['props']

    def full(self, model, **props):
        return self.expand('full', model, props)

    def needs(self):
        """Feature -> those that vanish without it; those that never stay; which exclude each other."""
        every = {name: True for name in self.names}
        kvm_only = [name for name, value in self.full('base', **every).items()
                    if name in every and not value and name != APX]
        result = {}
        for without in (APX, MPX):
            have = self.full('base', **{**every, without: False})
            for name in self.names:
                then = self.full('base', **{**every, without: False, name: False})
                gone = [other for other in self.names if other != name and have[other] and not then[other]]
                if gone and name != MPX or without == APX and gone:
                    result[name] = gone + [other for other in result.get(name, []) if other not in gone]
        return result, [name for name in kvm_only if name not in result]

    def raised(self, name):
        """The level that a feature asks for, if it does."""
        then = self.full('base', **{name: True})
        return max([then[level] for level in LEVELS if then[level] != self.base[level]], default=None)

    def levels(self):
        """The words whose leaf is asked for with their features, and what other features ask for."""
        raising, levels = set(), {}
        for index, word in enumerate(self.words):
            for names in word['bits'].values():
                name = names if isinstance(names, str) else names[0]
                level = self.raised(name)
                if level is not None:
                    raising.add(index)
                    if level != word['eax']:
                        levels[name] = level
        levels['avx10'] = self.full('base', **{'avx10': True, 'avx10-128': True})['min-level']
        return raising, levels

    def raw(self, model, needs):
        """A model's own values, with what does not show for want of something else: what others need is switched on,
        once its own value was seen."""
        values, forced, left = self.full(model), {}, set(needs) - {MPX, APX}
        while left:
            ready = {name for name in left if not any(name in needs[other] for other in left if other != name)} or left
            shown = self.full(model, **forced)
            values.update({name: shown[name] for name in ready})
            forced.update({name: True for name in ready})
            left -= ready
        shown = self.full(model, **forced)
        values.update({name: value for name, value in shown.items() if name not in needs and isinstance(value, bool)})
        bare = self.full(model, **{name: False for name in self.names})
        return {name: bare[name] if name in LEVELS else value for name, value in values.items()}


def differing(models, common):
    return {model: {name: value for name, value in sorted(values.items()) if common.get(name) != value}
            for model, values in sorted(models.items())}


def nearest(models, common):
    """The same, with what differs from the model before that is most like it, where there is one."""
    result, before = {}, {}
    for model, values in sorted(models.items()):
        rows = {'': common, **before}
        likest = min(rows, key=lambda name: sum(rows[name].get(prop) != values.get(prop) for prop in rows[name] | values))
        result[model] = {'like': likest} if likest else {}
        result[model].update({prop: value for prop, value in sorted(values.items()) if rows[likest].get(prop) != value})
        before[model] = {**common, **values}
    return result


def commonest(models):
    names = sorted(set().union(*models.values()))
    return {name: json.loads(Counter(json.dumps(values[name]) for values in models.values() if name in values)
                             .most_common(1)[0][0]) for name in names}


def wrap(members, indent):
    """Members of an object, as many as fit on a line."""
    text = json.dumps(members)[1:-1]
    pad = ' ' * indent
    keep = text.replace('": ', '":\0')  # no break inside a member
    names = [part.replace(' ', '\1') for part in keep.split(', "')]
    lines = textwrap.wrap(', "'.join(names).replace(', ', ', '), 118, initial_indent=pad, subsequent_indent=pad,
                          break_long_words=False, break_on_hyphens=False)
    return '\n'.join(lines).replace('\0', ' ').replace('\1', ' ')


def write(path, common, further, models):
    with open(path, 'w', encoding='utf-8') as file:
        file.write('{\n "common": {\n' + wrap(common, 2) + '\n },\n "further": ' + json.dumps(further) + ',\n "models": {\n')
        file.write(',\n'.join(f'  {json.dumps(model)}: {{\n{wrap(values, 3)}\n  }}' for model, values in models.items()))
        file.write('\n }\n}\n')


def main():
    program, version = sys.argv[1:3]
    qemu = Qemu(program, '-machine', 'none')
    try:
        recorder = Recorder(qemu.peer)
        models = [definition['name'] for definition in qemu.peer.call('query-cpu-definitions')]
        needs, kvm_only = recorder.needs()
        raising, levels = recorder.levels()
        print(json.dumps({'raises': sorted(raising), 'levels': levels, 'kvm-only': kvm_only, 'needs': needs}))
        static = set(recorder.expand('static', 'qemu64', {}))
        own = {model: recorder.raw(model, needs) for model in models}
        full = {model: recorder.full(model) for model in models}
    finally:
        qemu.close()
    common = {name: value for name, value in commonest(own).items() if name in static}
    everywhere = commonest(full)
    rows = {model: {name: value for name, value in values.items()
                    if name in static or name in FURTHER} for model, values in own.items()}
    further = {name: everywhere[name] for name in FURTHER}
    write(os.path.join(DATA, 'cpu-models.json'), common, further, nearest(rows, {**common, **further}))
    answers = os.path.join(ROOT, 'tests', 'data', f'qemu-{version}.cpu-expansion.json')
    # An expansion that is static has the members of "static" alone.
    with open(answers, 'w', encoding='utf-8') as file:
        json.dump({'static': sorted(static), 'common': everywhere, 'models': differing(full, everywhere)}, file,
                  separators=(',', ':'))
        file.write('\n')


# What models differ in, and no static expansion shows.
FURTHER = ('avx10-version', 'legacy-cache', 'x-force-cpuid-0x1f')

main()
