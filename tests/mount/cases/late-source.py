#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: MIT
# timeout: 120
# builds: plain asan tsan
"""A source that answers late, or never: only who opens what has to be fetched waits, no longer than the time-out."""

import errno
import os
import signal
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from fresh import Fresh
from lib import AT_ONCE, SLOW, Failed, check, equal, lazy_unmount, main, mounts_at, prompt, run, test, timed, until

NEVER = -1
CURRENT_MS = 1000
# How late an answer, or a time-out, may be on a machine that is busy.
LATE = 5


def open_late(fresh, name="n"):
    os.close(os.open(fresh.file(f"late/{name}"), os.O_RDONLY))


class Waiting:
    """Somebody in a process of his own who opens qom/late/n and prints what comes of it."""

    PROGRAM = """
import errno, os, signal, sys, time
def woken(*_):
    raise InterruptedError(errno.EINTR, "woken")
signal.signal(signal.SIGALRM, woken)
print("opening", flush=True)
try:
    os.open(sys.argv[1], os.O_RDONLY)
    print("opened", flush=True)
except OSError as error:
    print(errno.errorcode[error.errno], flush=True)
"""

    def __init__(self, fresh, name="n"):
        command = [sys.executable, "-c", self.PROGRAM, fresh.file(f"late/{name}")]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        equal(self.process.stdout.readline(), "opening\n", "how it starts")
        check(until(self.sleeps), "it does not wait")

    def sleeps(self):
        with open(f"/proc/{self.process.pid}/wchan", encoding="ascii") as file:
            place = file.read()
        return "fuse" in place or "request_wait_answer" in place

    def end(self, seconds=10):
        """(exit status, what it printed)"""
        try:
            return self.process.wait(seconds), self.process.stdout.read().strip()
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise Failed(f"it still waits after {seconds} s") from None
        finally:
            self.process.stdout.close()


@test("an open waits for the answer, and shows what was fetched: once, while that is current")
def answered_late():
    with Fresh(timeout=8) as fresh:
        for i, delay in enumerate((0, 100, 300), 1):
            fresh.tell("delay", delay, CURRENT_MS)
            seconds, content = timed(fresh.read, "late/n")
            equal(content, b"%d\n" % i, f"the value after {delay} ms")
            check(delay / 1000 <= seconds < delay / 1000 + LATE, f"{delay} ms: {seconds:.3f} s")
            equal(fresh.read("late/n"), content, "what is read while it is current")
            time.sleep(CURRENT_MS / 1000)
        seconds, content = timed(fresh.read, "late/.tree.json")
        check(b'"value":4}' in content and seconds >= 0.3, f".tree.json after {seconds:.3f} s: {content}")


@test("an open fetches once, however soon what was fetched is old")
def fetched_once():
    with Fresh(timeout=8) as fresh:
        fresh.tell("delay", 0, 0)
        for i in range(1, 101):
            equal(fresh.read("late/n"), b"%d\n" % i, f"open {i}")


@test("an answer that never comes: ETIMEDOUT, in the set time")
def never_answered():
    with Fresh(timeout=0.5) as fresh:
        fresh.tell("delay", NEVER, 0)
        for name in ("n", "text", ".tree.json"):
            seconds, result = timed(open_late, fresh, name)
            equal(result, "ETIMEDOUT", name)
            check(fresh.timeout <= seconds < fresh.timeout + LATE, f"{name}: {seconds:.3f} s")
        fresh.tell("delay", 0, 0)
        equal(timed(fresh.read, "late/n")[1], b"1\n", "once it answers again")


@test("an answer that comes after the time-out is no harm")
def answered_too_late():
    with Fresh(timeout=0.3) as fresh:
        fresh.tell("delay", int(fresh.timeout * 1000) + 200, 0)
        for _ in range(3):
            equal(timed(open_late, fresh)[1], "ETIMEDOUT", "open")
        time.sleep(fresh.timeout + 1)
        fresh.tell("delay", 0, 0)
        equal(fresh.read("late/n"), b"4\n", "the value, fetched three times unseen")


@test("others are not held up: ls -l, stat, df, cat, another open of the directory")
def others():
    with Fresh(timeout=30) as fresh:
        fresh.tell("delay", NEVER, 0)
        waiting = [Waiting(fresh, name) for name in ("n", "text", ".tree.json")]
        for command in (
            ("ls", "-la", fresh.file("late")),
            ("ls", "-lR", fresh.file("pair")),
            ("stat", fresh.file("late/n"), fresh.file("late")),
            ("df", fresh.path),
            ("cat", fresh.file("pair/front/n"), fresh.file("pair/.tree.json"), fresh.file("moving/a")),
            ("sh", "-c", f"echo 5 > {fresh.file('pair/front/n')}"),
        ):
            done = prompt(run, *command)
            equal((done.returncode, done.stderr), (0, b""), f"{command[0]}")
        for one in waiting:
            check(one.process.poll() is None, "somebody does not wait any more")
            one.process.send_signal(signal.SIGALRM)
            equal(one.end(), (0, "EINTR"), "an open that is woken")


@test("whoever is interrupted returns at once: Ctrl-C, a handled signal, SIGKILL")
def interrupted():
    with Fresh(timeout=30) as fresh:
        fresh.tell("delay", NEVER, 0)
        for _ in range(20):
            one = Waiting(fresh)
            one.process.send_signal(signal.SIGALRM)
            equal(one.end(), (0, "EINTR"), "SIGALRM with a handler")
        for number in (signal.SIGINT, signal.SIGKILL, signal.SIGTERM):
            one = Waiting(fresh)
            one.process.send_signal(number)
            status, printed = one.end()
            check(status != 0 and printed == "", f"{number.name}: status {status}, {printed!r}")
        equal(fresh.read("pair/front/n"), b"0\n", "the mount afterwards")


@test("an answer and an interruption at the same time: hundreds of tries")
def races():
    program = """
import os, signal, sys
def woken(*_):
    raise InterruptedError
signal.signal(signal.SIGALRM, woken)
for i in range(300):
    signal.setitimer(signal.ITIMER_REAL, 0.004 + (i % 40) * 0.0001)
    try:
        os.close(os.open(sys.argv[1], os.O_RDONLY))
    except InterruptedError:
        pass
    try:
        signal.setitimer(signal.ITIMER_REAL, 0)
    except InterruptedError:
        pass
"""
    with Fresh(timeout=10) as fresh:
        fresh.tell("delay", 5, 0)
        done = run(sys.executable, "-c", program, fresh.file("late/n"))
        equal((done.returncode, done.stderr), (0, b""), "the program")
        number = int(fresh.read("late/n"))
        # Whoever is woken before he opens, which a busy machine brings about, has nothing fetched.
        check(number > 100, f"only {number} fetches")


@test("an answer and the time-out at the same time: a hundred tries")
def timeout_races():
    with Fresh(timeout=0.02) as fresh:
        outcomes = {"ETIMEDOUT": 0, None: 0}
        for i in range(100):
            fresh.tell("delay", int(fresh.timeout * 1000) - 2 + i % 5, 0)
            outcomes[timed(open_late, fresh)[1]] += 1
        print(f"# {outcomes}")
        fresh.tell("delay", 0, 0)
        until(lambda: int(fresh.read("late/n")) > 100)
        check(int(fresh.read("late/n")) > 100, "fetches are missing")


@test("a hundred that wait: the others answer, and all end in time")
def hundred():
    with Fresh(timeout=2) as fresh:
        fresh.tell("delay", NEVER, 0)
        results = []
        threads = [threading.Thread(target=lambda: results.append(timed(open_late, fresh))) for _ in range(100)]
        for thread in threads:
            thread.start()
        for _ in range(20):
            check(prompt(fresh.read, "pair/.tree.json"), "a read of something else")
            time.sleep(0.02)
        for thread in threads:
            thread.join()
        equal({result for _, result in results}, {"ETIMEDOUT"}, "how they end")
        longest = max(seconds for seconds, _ in results)
        check(longest < fresh.timeout + LATE, f"the longest waited {longest:.3f} s")


@test("a mount with somebody waiting ends: SIGTERM, and a lazy unmount")
def ends():
    for how in ("SIGTERM", "umount"):
        fresh = Fresh(timeout=60)
        fresh.tell("delay", NEVER, 0)
        waiting = [Waiting(fresh) for _ in range(3)]
        if how == "SIGTERM":
            fresh.process.terminate()
        else:
            lazy_unmount(fresh.path)
            for one in waiting:
                one.process.send_signal(signal.SIGALRM)
        for one in waiting:
            status, printed = one.end(10 * SLOW)
            check(status == 0 and printed != "opened", f"{how}: {printed}")
        fresh.wait()
        equal(mounts_at(fresh.path), [], "a mount is left")


main()
