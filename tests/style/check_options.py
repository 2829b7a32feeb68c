# SPDX-License-Identifier: MIT
"""The documents and the manual page against the binary and its tables: options and special files."""

import re
from files import CannotCheck

HELP_LINE = re.compile(r'\s+-')
HELP_OPTION = re.compile(r'(?<= )--(?P<name>[\w-]+)')
# A command line of qomfs in a document: from its name to the end of the line or of the code.
COMMAND = re.compile(r'(?:^|[\s`/])qomfs (?P<arguments>[^`|#\n]*)')
NAME = re.compile(r'[a-z][\w-]*')
MANUAL = 'docs/qomfs.1'
MANUAL_OPTION = re.compile(r'(?<= )-(?P<name>\w[\w-]*)')
SPECIAL_FILE_TABLE = 'fs/special.c'
SPECIAL_FILE = re.compile(r'\{\s*\.name = "(?P<name>[^"]+)"')


def options(sources):
    """Each option of --help is documented, and each option in the documents exists."""
    documents = read_documents(sources)
    known = known_options(sources)
    if not known:
        yield 'qomfs --help lists no options'
    code = '\n'.join(text for document in documents.values() for text in code_in(document))
    for name in known:
        if not re.search(rf'(?<!\w)(?:--|(?<!-)){re.escape(name)}(?![\w-])', code):
            yield f'--{name} stands in no document'
    for path, document in documents.items():
        for name in sorted(set(options_in(document)) - set(known)):
            # Not all that the binary takes stands in its help: mount(8) has options of its own.
            if 'unknown option' in sources.complaint_of_binary(f'-o{name}', 'model', '/nonexistent/mount-point'):
                yield f'{path}: there is no option {name}'


def manual(sources):
    """The manual page has the options of --help, no others, and the special files."""
    lines = sources.text(MANUAL).splitlines()
    shown = [match['name'] for line in lines if line.startswith('.It Fl ') for match in MANUAL_OPTION.finditer(line)]
    known = known_options(sources)
    for name in sorted(set(known) - set(shown)):
        yield f'{MANUAL}: --{name} is missing'
    for name in sorted(set(shown) - set(known)):
        yield f'{MANUAL}: there is no option {name}'
    for name in special_names(sources):
        if not any(line.startswith('.It Pa ') and name in line.split() for line in lines):
            yield f'{MANUAL}: the file {name} is missing'


def known_options(sources):
    return [match['name'] for line in sources.run_binary('--help').splitlines() if HELP_LINE.match(line)
            for match in HELP_OPTION.finditer(line)]


def special_names(sources):
    return SPECIAL_FILE.findall(sources.text(SPECIAL_FILE_TABLE))


def special_files(sources):
    """Each special file is documented."""
    names = special_names(sources)
    if not names:
        yield f'{SPECIAL_FILE_TABLE} holds no table of special files'
    code = '\n'.join(text for document in read_documents(sources).values() for text in code_in(document))
    for name in names:
        if name not in code:
            yield f'{name} stands in no document'


def read_documents(sources):
    """What a user reads: path to text."""
    paths = [path for path in sources.named('.md') if path == 'README.md' or path.startswith('docs/')]
    if 'README.md' not in paths:
        raise CannotCheck('there is no README.md yet')
    return {path: sources.text(path) for path in paths}


def code_in(document):
    """Fenced, indented and inline code."""
    in_fence = False
    for line in document.splitlines():
        if line.lstrip().startswith('```'):
            in_fence = not in_fence
        elif in_fence or line.startswith('    '):
            yield line
        else:
            yield from re.findall(r'`([^`]+)`', line)


def options_in(document):
    """Names of long options and mount options on command lines of qomfs, and in the first column of tables."""
    for match in COMMAND.finditer(document):
        yield from options_of(match['arguments'])
    for line in document.splitlines():
        if row := re.match(r'\| *`(-[^`]*)`', line):
            yield from options_of(row[1])


def options_of(arguments):
    words = arguments.split()
    for word, following in zip(words, words[1:] + ['']):
        if word.startswith('--'):
            found = [word[2:]]
        elif word == '-o':
            found = following.split(',')
        elif word.startswith('-o'):
            found = word[2:].split(',')
        else:
            continue
        for option in found:
            if match := NAME.match(option):
                yield match[0]
