# SPDX-License-Identifier: MIT
"""Readers of a mount that go on side by side until they are stopped."""

import threading


class Readers:
    """Each is a thread that repeats something and counts; one that fails stops, and says why. As a context: they run."""

    def __init__(self):
        self.over, self.done, self.failures, self.threads = threading.Event(), {}, [], []

    def add(self, name, work, pause=0.0):
        """pause: seconds before each time. Readers of one name are counted together."""
        self.done.setdefault(name, 0)
        self.threads.append(threading.Thread(target=self.repeat, args=(name, work, pause)))

    def repeat(self, name, work, pause):
        while not self.over.wait(pause):
            try:
                work()
            except (OSError, RuntimeError) as error:
                self.failures.append(f"{name}: {error}")
                return
            self.done[name] += 1

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *error):
        self.over.set()
        for thread in self.threads:
            thread.join()
