# SPDX-License-Identifier: MIT
"""The documents: what they point at is there."""

import re
from urllib.parse import unquote

LINK = re.compile(r'\[[^\]]*\]\((?P<target>[^)\s]+)\)')
FENCE = re.compile(r'\s*(```|~~~)')


def links(sources):
    """Links between documents lead to files and headings that exist."""
    for path in sources.named('.md'):
        for number, line in prose(sources.lines(path)):
            for match in LINK.finditer(line):
                target, _, heading = unquote(match['target']).partition('#')
                if '://' in target or target.startswith('mailto:'):
                    continue
                file = (sources.root / path).parent / target if target else sources.root / path
                if not file.exists():
                    yield f'{path}:{number}: {target} does not exist'
                elif heading and file.suffix == '.md' and heading not in headings(file):
                    yield f'{path}:{number}: {target} has no heading #{heading}'


def prose(lines):
    """Numbered lines outside code."""
    in_code = False
    for number, line in enumerate(lines, 1):
        if FENCE.match(line):
            in_code = not in_code
        elif not in_code:
            yield number, re.sub(r'`[^`]*`', '', line)


def headings(file):
    """The anchors that a document's headings make, as GitHub and GitLab form them."""
    found = set()
    for line in file.read_text(encoding='utf-8').splitlines():
        if line.startswith('#'):
            words = re.sub(r'[^\w\- ]', '', line.lstrip('#').strip().lower())
            found.add(words.replace(' ', '-'))
    return found
