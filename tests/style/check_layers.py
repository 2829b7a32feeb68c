# SPDX-License-Identifier: MIT
"""Who may include whom: the layers of docs/architecture.md."""

import re

# A folder's files include only headers of these folders. main.c and everything not named here may include all.
ALLOWED = {
    'objmodel': {'objmodel'},
    'qmp': {'objmodel', 'qmp'},
    'vmm': {'objmodel', 'qmp', 'vmm'},
    'fs': {'objmodel', 'fs'},
}
WIRES_EVERYTHING = 'main.c'
INCLUDE = re.compile(r'\s*#\s*include\s+(?:"(?P<own>[^"]*)"|<(?P<system>[^>]*)>)')


def layers(sources):
    """A layer includes only itself and the layers below it."""
    for path in sources.named('.c', '.h'):
        allowed = ALLOWED.get(path.split('/', 1)[0])
        for number, line in enumerate(sources.lines(path), 1):
            match = INCLUDE.match(line)
            if not match:
                continue
            header = match['own'] or match['system']
            folder = header.split('/', 1)[0] if '/' in header else None
            if match['own'] and not (sources.root / header).is_file() and not beside(sources, path, header).is_file():
                yield f'{path}:{number}: "{header}" is no file, from the top folder'
            elif match['own'] and allowed and '/' not in header:
                yield f'{path}:{number}: "{header}" is not given from the top folder'
            elif allowed and path.rsplit('/', 1)[-1] != WIRES_EVERYTHING and (folder in ALLOWED or match['own']) and folder not in allowed:
                yield f'{path}:{number}: {path.split("/", 1)[0]}/ must not include {header}'


def header_names(sources):
    """No header is named like a system header that is used: Meson's include paths would hide that."""
    system = {match['system'] for path in sources.named('.c', '.h') for line in sources.lines(path)
              if (match := INCLUDE.match(line))}
    for path in sources.named('.h'):
        name = path.rsplit('/', 1)[-1]
        if name in system:
            yield f'{path}: <{name}> is a system header'


def beside(sources, path, header):
    return (sources.root / path).parent / header
