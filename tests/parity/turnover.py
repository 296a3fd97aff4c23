"""A process whose threads start and exit on request. Its name is on its command line.

It starts with two threads that stay and two that leave, and prints "ready". On each line "turn" of standard input the leaving threads exit,
the staying ones use some CPU time, and three new ones start, use some CPU time and wait. It then prints "turned". It exits at the end of its
input.
"""

import sys
import threading
import time

BURN = 0.03  # seconds of CPU time per thread


def burn():
    end = time.thread_time() + BURN
    while time.thread_time() < end:
        pass


class Worker:
    """A thread that burns CPU time and then waits for a request to burn again or to end."""

    def __init__(self):
        self.requests, self.idle = threading.Semaphore(0), threading.Semaphore(0)
        self.stop = False
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()
        self.idle.acquire()

    def run(self):
        while not self.stop:
            burn()
            self.idle.release()
            self.requests.acquire()

    def burn_again(self):
        self.requests.release()
        self.idle.acquire()

    def end(self):
        self.stop = True
        self.requests.release()
        self.thread.join()


def main():
    with open("/proc/self/comm", "w", encoding="utf-8") as comm:
        comm.write(sys.argv[1])
    stayers, leavers = [Worker(), Worker()], [Worker(), Worker()]
    print("ready", flush=True)
    for _ in sys.stdin:
        for worker in leavers:
            worker.end()
        for worker in stayers:
            worker.burn_again()
        leavers = [Worker() for _ in range(3)]
        print("turned", flush=True)


if __name__ == "__main__":
    main()
