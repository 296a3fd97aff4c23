"""Shows the progress of an operation on a terminal after one second."""

import sys
import time


class Progress:
    def __init__(self, unit):
        self.total, self.unit, self.done = 0, unit, 0
        self.next = time.monotonic() + 1 if sys.stderr.isatty() else None
        self.shown = False

    def step(self):
        self.done += 1
        if self.next and time.monotonic() >= self.next:
            self.next = time.monotonic() + 0.2
            self.shown = True
            print(f"\r{self.done} of {self.total} {self.unit}\x1b[K", end="", file=sys.stderr, flush=True)

    def end(self):
        if self.shown:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
