#!/usr/bin/python3
"""Programs whose values are difficult to compute, for use in recordings.

    load.py pool READY         four workers with some MB each; after SIGUSR1 three of them are replaced one after the other
    load.py exec READY         a thread that is not the leader uses CPU time; after SIGUSR1 it calls exec
    load.py hog READY          one old process that used CPU time, and nine young ones of the same name that sleep
    load.py tune READY         a process that changes its nice value and CPUs after SIGUSR1
    load.py churn READY        starts programs that exit, until it is killed

Each program creates the file READY when it is in the described state, and READY.done after it has handled SIGUSR1.
"""

import ctypes
import os
import signal
import subprocess
import sys
import threading
import time

PR_SET_NAME = 15
POOL_BYTES, POOL_WORKERS, POOL_REPLACED = 6 << 20, 4, 3
EXEC_CPU_SECONDS, HOG_CPU_SECONDS = 1.0, 0.8


def set_name(name):
    ctypes.CDLL(None).prctl(PR_SET_NAME, name.encode(), 0, 0, 0)


def create_file(path):
    with open(path, "w", encoding="utf-8"):
        pass


def wait_for_signal():
    """Waits for SIGUSR1, which is blocked from the start so that it is not lost."""
    signal.sigwait({signal.SIGUSR1})


def use_cpu(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


def fork_child(work):
    """Starts a child that calls `work` and then sleeps until it is killed."""
    started, report = os.pipe()
    child = os.fork()
    if child == 0:
        work()
        os.write(report, b".")
        signal.pause()
    os.close(report)
    os.read(started, 1)
    os.close(started)
    return child


def pool(ready):
    set_name("pool")

    def worker():
        set_name("pool_worker")
        return bytearray(os.urandom(4096) * (POOL_BYTES // 4096))

    kept = []
    workers = [fork_child(lambda: kept.append(worker())) for _ in range(POOL_WORKERS)]
    create_file(ready)
    wait_for_signal()
    for at in range(POOL_REPLACED):
        new = fork_child(lambda: kept.append(worker()))
        os.kill(workers[at], signal.SIGKILL)
        os.waitpid(workers[at], 0)
        workers[at] = new
    create_file(ready + ".done")
    signal.pause()


def exec_by_thread(ready):
    set_name("exec_thread")

    def run():
        use_cpu(EXEC_CPU_SECONDS)
        create_file(ready)
        wait_for_signal()
        os.execv(sys.executable, [sys.executable, __file__, "after", ready + ".done"])

    threading.Thread(target=run).start()
    threading.Event().wait()


def after(ready):
    set_name("exec_thread")
    use_cpu(0.05)
    create_file(ready)
    signal.pause()


def hog(ready):
    set_name("hog")
    use_cpu(HOG_CPU_SECONDS)
    for _ in range(9):
        fork_child(lambda: None)
    create_file(ready)
    signal.pause()


def tune(ready):
    set_name("tuned")
    create_file(ready)
    wait_for_signal()
    os.setpriority(os.PRIO_PROCESS, 0, 7)
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    create_file(ready + ".done")
    signal.pause()


def churn(ready):
    set_name("churn")
    create_file(ready)
    while True:
        subprocess.run(["true"], check=False)
        subprocess.run(["sh", "-c", "true; sleep 0.02 & wait"], check=False)


if __name__ == "__main__":
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
    {"pool": pool, "exec": exec_by_thread, "after": after, "hog": hog, "tune": tune, "churn": churn}[sys.argv[1]](sys.argv[2])
