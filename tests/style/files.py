# SPDX-License-Identifier: MIT
"""The project's own files, as the checks see them."""

import os
import subprocess


class CannotCheck(Exception):
    """This machine lacks what the check needs; says what."""


class Sources:
    """root: the project's top folder. binary: path of qomfs, or None where it is not built."""

    def __init__(self, root, binary):
        self.root = root
        self.binary = binary
        self.paths = sorted(self._tracked() or self._found())

    def _tracked(self):
        """What git knows, and what is not ignored; nothing outside a work tree of git's."""
        if not (self.root / '.git').exists():
            return []
        # safe.directory: the tree may belong to another user than root, say
        command = ['git', '-c', f'safe.directory={self.root}', '-C', str(self.root),
                   'ls-files', '-z', '--cached', '--others', '--exclude-standard']
        try:
            listed = subprocess.run(command, capture_output=True, check=True).stdout
        except (OSError, subprocess.CalledProcessError):
            return []
        return [path for path in os.fsdecode(listed).split('\0') if path and (self.root / path).is_file()]

    def _found(self):
        """All files of an unpacked archive."""
        found = []
        for folder, folders, names in os.walk(self.root):
            folders[:] = [name for name in folders if name not in ('.git', '__pycache__') and name[:5] != 'build']
            found += [os.path.relpath(os.path.join(folder, name), self.root) for name in names]
        return found

    def named(self, *suffixes):
        """Paths from the top folder that end so; recorded data is left out."""
        return [path for path in self.paths if path.endswith(suffixes) and not path.startswith('tests/data/')]

    def scripts(self, interpreter):
        """Files whose first line names this interpreter."""
        found = []
        for path in self.paths:
            with open(self.root / path, 'rb') as file:
                first = file.readline(200)
            if first.startswith(b'#!') and interpreter in first.decode(errors='replace').replace('/', ' ').split():
                found.append(path)
        return found

    def text(self, path):
        return (self.root / path).read_text(encoding='utf-8')

    def lines(self, path):
        return self.text(path).splitlines()

    def run_binary(self, *arguments):
        """What the binary prints."""
        return self._finished(arguments).stdout

    def complaint_of_binary(self, *arguments):
        """What the binary says to standard error."""
        return self._finished(arguments).stderr

    def _finished(self, arguments):
        if not self.binary or not os.access(self.binary, os.X_OK):
            raise CannotCheck('qomfs is not built')
        return subprocess.run([str(self.binary), *arguments], capture_output=True, text=True, check=False,
                              stdin=subprocess.DEVNULL, timeout=20)
