# SPDX-License-Identifier: MIT
"""How files look: what clang-format and shellcheck say, and the first lines that every file has."""

import re
import shutil
import subprocess
from collections import Counter
from files import CannotCheck

CLANG_FORMAT_VERSION = '14'  # another version lays some lines out otherwise
LICENCE = 'SPDX-License-Identifier: MIT'


def clang_format(sources):
    """C files are laid out as .clang-format says."""
    for program in (f'clang-format-{CLANG_FORMAT_VERSION}', 'clang-format'):
        if shutil.which(program):
            version = subprocess.run([program, '--version'], capture_output=True, text=True, check=True).stdout
            if re.search(rf'version {CLANG_FORMAT_VERSION}\.', version):
                break
    else:
        raise CannotCheck(f'clang-format {CLANG_FORMAT_VERSION} is not installed')
    command = [program, '--dry-run', '--Werror', *sources.named('.c', '.h')]
    run = subprocess.run(command, cwd=sources.root, capture_output=True, text=True, check=False)
    places = Counter(line.split(':', 1)[0] for line in run.stderr.splitlines() if 'error:' in line)
    if run.returncode != 0 and not places:
        return run.stderr.splitlines()
    return [f'{path}: {count} place(s); {program} -i {path}' for path, count in places.items()]


def first_lines(sources):
    """Each source begins with its licence and a comment of what it is."""
    for path in sources.named('.c', '.h'):
        lines = sources.lines(path)[:3] + [''] * 3
        if lines[0] != f'/* {LICENCE} */':
            yield f'{path}:1: not "/* {LICENCE} */"'
        elif not lines[1].startswith('/*') or len(lines[1] + lines[2]) < 10:
            yield f'{path}:2: no comment of what the file is'
    for path in sorted({*sources.named('.sh', '.py'), *sources.scripts('sh'), *sources.scripts('bash'),
                        *sources.scripts('python3')}):
        lines = [line for line in sources.lines(path)[:4] if not line.startswith('#!')]
        if not lines or lines[0] != f'# {LICENCE}':
            yield f'{path}: does not begin with "# {LICENCE}"'
        elif not re.match(r'#|"""', ''.join(lines[1:2])):
            yield f'{path}: no comment of what the file is'


def white_space(sources):
    """Text files have no tabs, no blanks at line ends, and end in a newline."""
    for path in sources.named('.c', '.h', '.py', '.sh', '.md', 'meson.build', 'meson_options.txt', '/run'):
        text = sources.text(path)
        if text and not text.endswith('\n'):
            yield f'{path}: no newline at its end'
        for number, line in enumerate(text.splitlines(), 1):
            if line != line.rstrip() or '\t' in line:
                yield f'{path}:{number}: a tab, or a blank at the end'


def shell_scripts(sources):
    """Shell scripts pass shellcheck."""
    if not shutil.which('shellcheck'):
        raise CannotCheck('shellcheck is not installed')
    scripts = sorted({*sources.named('.sh'), *sources.scripts('sh'), *sources.scripts('bash')})
    run = subprocess.run(['shellcheck', '--external-sources', '--format=gcc', *scripts],
                         cwd=sources.root, capture_output=True, text=True, check=False)
    return run.stdout.splitlines() + run.stderr.splitlines()
