# SPDX-License-Identifier: MIT
"""Two object trees side by side: which objects, properties, types, values and link targets are the same."""

import re
from collections import Counter


def objects(node, path=''):
    """Path -> object, all of a tree as qom-tree-get returns it."""
    yield path or '/', node
    for child in node['children']:
        yield from objects(child, f'{path}/{child["name"]}')


def rows(node):
    """Name -> (type, value) of an object's properties."""
    return {prop['name']: (prop['type'], prop.get('value')) for prop in node['properties']}


def kind(name):
    """child[3] and child[0] are one kind of property."""
    return re.sub(r'\[\d+\]', '[N]', name)


def triples(tree):
    """All (object's type, property with [N], property's type)."""
    result = set()
    for _, node in objects(tree):
        have = rows(node)
        type_name = have['type'][1]
        result |= {(type_name, kind(name), prop_type) for name, (prop_type, _) in have.items()}
        result |= {(type_name, kind(child['name']), f'child<{rows(child)["type"][1]}>') for child in node['children']}
    return result


class Comparison:
    """What is the same in both, and what is not, by kind: (type, property with [N])."""

    def __init__(self, theirs, ours, ignored_paths=()):
        self.theirs, self.ours = dict(objects(theirs)), dict(objects(ours))
        self.ignored = [re.compile(pattern) for pattern in ignored_paths]
        self.values = self.links = self.same_values = self.same_links = 0
        self.missing_objects = [path for path in self.theirs if path not in self.ours and self.counts(path)]
        self.extra_objects = [path for path in self.ours if path not in self.theirs and self.counts(path)]
        self.missing, self.extra, self.types, self.differing = Counter(), Counter(), Counter(), Counter()
        self.examples = {}
        for path, node in self.theirs.items():
            if path in self.ours and self.counts(path):
                self.compare(path, rows(node), rows(self.ours[path]))

    def counts(self, path):
        return not any(pattern.search(path) for pattern in self.ignored)

    def compare(self, path, theirs, ours):
        type_name = theirs['type'][1]
        for name, (prop_type, value) in theirs.items():
            key = (type_name, kind(name))
            if name not in ours:
                self.note(self.missing, key, path, name, value, None)
                continue
            our_type, our_value = ours[name]
            if prop_type != our_type:
                self.note(self.types, key, path, name, prop_type, our_type)
            is_link = prop_type.startswith('link<')
            same = value == our_value and type(value) is type(our_value)
            self.values += not is_link
            self.links += is_link
            self.same_values += same and not is_link
            self.same_links += same and is_link
            if not same:
                self.note(self.differing, key, path, name, value, our_value)
        for name in ours.keys() - theirs.keys():
            self.note(self.extra, (type_name, kind(name)), path, name, None, ours[name][1])

    def note(self, counter, key, path, name, theirs, ours):
        counter[key] += 1
        self.examples.setdefault((id(counter), key), (path, name, theirs, ours))

    def example(self, counter, key):
        return self.examples[id(counter), key]
