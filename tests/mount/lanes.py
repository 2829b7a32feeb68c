# SPDX-License-Identifier: MIT
"""Lanes: processes that each do one piece of work at a time, so that several are under way at once.

Each makes itself the reaper of its descendants: a daemon that was started in a lane becomes that lane's child, so that what
is left running is found, and how a daemon died is known. What the work prints is kept, and shown in one piece by this
process: run_all(pieces, work, jobs, out) calls work(piece, out) in a lane for each.
"""

import ctypes
import multiprocessing
import multiprocessing.connection
import signal

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36


class Kept:
    """A tap.Writer to write to now and to be shown by another one later."""

    def __init__(self):
        self.calls = []

    def __getattr__(self, method):
        return lambda *arguments: self.calls.append((method, arguments))

    def show(self, out):
        for method, arguments in self.calls:
            getattr(out, method)(*arguments)


def _prctl(option, value):
    if ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), 'prctl')


def _serve(pipe, work):
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    _prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    try:
        while True:
            kept = Kept()
            work(pipe.recv(), kept)
            pipe.send(kept.calls)
    except (EOFError, KeyboardInterrupt):
        pass


class Lane:
    def __init__(self, work):
        self.pipe, theirs = multiprocessing.Pipe()
        # Forked: it inherits this process' handling of signals, and what it knows of the work.
        self.process = multiprocessing.get_context('fork').Process(target=_serve, args=(theirs, work), daemon=True)
        self.process.start()
        theirs.close()

    def show_result(self, out):
        kept = Kept()
        kept.calls = self.pipe.recv()  # EOFError where the lane died, which nothing excuses
        kept.show(out)

    def end(self):
        self.process.terminate()
        self.process.join()


def run_all(pieces, work, jobs, out):
    """In this order, up to `jobs` at a time; a piece whose `alone` is true has the machine for itself."""
    lanes = [Lane(work) for _ in range(min(jobs, len(pieces)))]
    idle, busy, waiting = list(lanes), {}, list(pieces)
    try:
        while waiting or busy:
            alone = any(piece.alone for piece in busy.values())
            while waiting and idle and not alone and not (waiting[0].alone and busy):
                lane, piece = idle.pop(), waiting.pop(0)
                alone = piece.alone
                busy[lane] = piece
                lane.pipe.send(piece)
            for pipe in multiprocessing.connection.wait([lane.pipe for lane in busy]):
                lane = next(lane for lane in busy if lane.pipe is pipe)
                lane.show_result(out)
                del busy[lane]
                idle.append(lane)
    finally:
        for lane in lanes:
            lane.end()
