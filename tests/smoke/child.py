"""A process that does what its standard input says, a word on each line, and measures itself: each line is answered with one of JSON.

    measure     what each of its worker threads has used so far, by the thread itself: [figures of a thread]
    work        each worker computes and sleeps a little; null
    grow        starts another worker: its thread id
    shrink      ends the worker that is oldest: the figures that it had last
    fork N      runs N processes to their end: their process ids

It begins with two workers and ends when its input does.
"""

import json
import os
import queue
import resource
import subprocess
import sys
import threading
import time

BURN_NS = 10_000_000


def figures():
    """Of the calling thread, all of which only grow, but for the time."""
    usage = resource.getrusage(resource.RUSAGE_THREAD)
    return {"tid": threading.get_native_id(), "monotonic_ns": time.monotonic_ns(),
            "run_time_ns": time.clock_gettime_ns(time.CLOCK_THREAD_CPUTIME_ID), "minflt": usage.ru_minflt, "majflt": usage.ru_majflt,
            "voluntary_csw": usage.ru_nvcsw, "nonvoluntary_csw": usage.ru_nivcsw}


def work():
    end = time.clock_gettime_ns(time.CLOCK_THREAD_CPUTIME_ID) + BURN_NS
    while time.clock_gettime_ns(time.CLOCK_THREAD_CPUTIME_ID) < end:
        pass
    time.sleep(0.001)


class Worker:
    """Runs one function after the other in its thread."""

    def __init__(self):
        self.functions, self.answers = queue.SimpleQueue(), queue.SimpleQueue()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        while function := self.functions.get():
            self.answers.put(function())

    def call(self, function):
        self.functions.put(function)
        return self.answers.get()

    def end(self):
        """Returns when the kernel has forgotten the thread, which is later than join() does."""
        self.functions.put(None)
        self.thread.join()
        while os.path.exists(f"/proc/self/task/{self.thread.native_id}"):
            os.sched_yield()


def run_processes(count):
    processes = [subprocess.Popen(["true"]) for _ in range(count)]
    for process in processes:
        process.wait()
    return [process.pid for process in processes]


def answer(workers, word, *arguments):
    if word == "measure":
        return [worker.call(figures) for worker in workers]
    if word == "work":
        for worker in workers:
            worker.call(work)
    elif word == "grow":
        workers.append(Worker())
        return workers[-1].call(threading.get_native_id)
    elif word == "shrink":
        worker = workers.pop(0)
        last = worker.call(figures)
        worker.end()
        return last
    elif word == "fork":
        return run_processes(int(arguments[0]))
    return None


def main():
    workers = [Worker(), Worker()]
    for line in sys.stdin:
        print(json.dumps(answer(workers, *line.split())), flush=True)


main()
