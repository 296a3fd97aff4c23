"""A process that executes commands from standard input, one per line, and measures itself. It answers each line with one line of JSON.

    measure     returns the resource usage of each worker thread, measured by that thread: [usage of a thread]
    work        lets each worker compute and sleep briefly; null
    grow        starts another worker; returns its thread id
    shrink      stops the oldest worker; returns its last usage
    fork N      runs N processes to completion; returns their pids

It starts with two workers and exits at the end of its input.
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


def measure_usage():
    """Returns the usage of the calling thread. All values except the time are counters."""
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
    """Runs functions in its thread, one after the other."""

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
        """Returns when the kernel has removed the thread, which can be later than join()."""
        self.functions.put(None)
        self.thread.join()
        while os.path.exists(f"/proc/self/task/{self.thread.native_id}"):
            os.sched_yield()


def run_processes(count):
    processes = [subprocess.Popen(["true"]) for _ in range(count)]
    for process in processes:
        process.wait()
    return [process.pid for process in processes]


def execute(workers, word, *arguments):
    if word == "measure":
        return [worker.call(measure_usage) for worker in workers]
    if word == "work":
        for worker in workers:
            worker.call(work)
    elif word == "grow":
        workers.append(Worker())
        return workers[-1].call(threading.get_native_id)
    elif word == "shrink":
        worker = workers.pop(0)
        last = worker.call(measure_usage)
        worker.end()
        return last
    elif word == "fork":
        return run_processes(int(arguments[0]))
    return None


def main():
    workers = [Worker(), Worker()]
    for line in sys.stdin:
        print(json.dumps(execute(workers, *line.split())), flush=True)


main()
