"""Reads the results of the recorder off-cpu from a window file, without ctprof: values of threads, and their stacks with names."""

import re
import subprocess

import recording

SCHEDULER_EVENTS = "sched:sched_switch,sched:sched_wakeup,sched:sched_wakeup_new"
KINDS = "interruptible", "uninterruptible", "queued", "preempted"
BLOCKED = KINDS[:2]


class Thread:
    """One row. A missing value is 0: the thread never waited."""

    def __init__(self, cells, born, ended, wall_ns):
        self.cells, self.born, self.ended, self.wall_ns = cells, born, ended, wall_ns
        self.stacks = []  # (names from leaf to root, weight)

    def __getattr__(self, name):
        return self.cells.get(name) or 0

    def ns(self, kinds=KINDS):
        return sum(getattr(self, f"offcpu_{kind}_ns") for kind in kinds)

    def count(self, kinds):
        return sum(getattr(self, f"offcpu_{kind}_count") for kind in kinds)

    def weight(self, through=None):
        """Returns the weight of all stacks, or of those through a function."""
        return sum(weight for names, weight in self.stacks if through is None or through in names)


class OffCpuFile:
    """`threads` are all rows, `head` is the window line."""

    def __init__(self, path):
        lines = recording.read_lines(path)
        self.head = next(line for line in lines if line["kind"] == "window")
        self.rows = {}
        for line in lines:
            if line["kind"] == "exited" or (line["kind"] == "table" and line["entity"] == "thread"):
                self._add_rows(line)
        self._add_stacks([line for line in lines if line["kind"] == "stacks"])
        self.threads = list(self.rows.values())

    def _add_rows(self, line):
        columns, born = line["columns"], set(line.get("born", ()))
        for at in range(len(columns["tid"])):
            row = line["first_row"] + at
            cells = {name: values[at] for name, values in columns.items()}
            first, last = line["seen"][at]
            self.rows[row] = Thread(cells, row in born, line["kind"] == "exited", last - first)

    def _add_stacks(self, parts):
        def join_parts(part, key):
            return [value for line in parts if line["part"] == part for value in line[key]]
        strings = join_parts("strings", "text")
        frames = ["[truncated]"] + [strings[name] for name in join_parts("frames", "name")]  # the first one is not in the file
        parents, of_node = [0] + join_parts("nodes", "parent"), [0] + join_parts("nodes", "frame")
        for line in parts:
            if line["part"] != "weights" or line["metric"] != "offcpu_stacks":
                continue
            for row, node, weight in zip(line["row"], line["node"], line["weight"]):
                names = []
                while node:
                    names.append(frames[of_node[node]])
                    node = parents[node]
                self.rows[row].stacks.append((names, weight))

    def threads_of(self, tgid):
        return [thread for thread in self.threads if thread.tgid == tgid]

    def thread(self, tid):
        return next(thread for thread in self.threads if thread.tid == tid)


def find_cpus_with_idle_events(data, program):
    """Returns the CPUs, as text, whose idle threads perf observes; none if it cannot trace. Some kernels hide idle
    threads, and thereby all wake-ups by interrupts of an idle CPU."""
    words = "perf", "record", "-a", "-e", "sched:sched_switch", "-o", data, "--", program, "turns", "1", "4"
    if subprocess.run(words, capture_output=True, timeout=300, check=False).returncode != 0:
        return []
    shown = subprocess.run(["perf", "script", "-i", str(data), "-F", "cpu,trace"], capture_output=True, text=True, timeout=300, check=True)
    return sorted({match[1] for match in re.finditer(r"\[(\d+)\].* prev_pid=0 ", shown.stdout)})


def record_with_perf(test, directory, options, program, buffer):
    """Records `program`, a run of tests/record/waits, with off-cpu and with perf, which writes to `directory`/perf.data; `buffer`: of perf, for each CPU.
    Returns the finished process, and its threads that started and exited. At an event the program that was attached first runs first, and delays the
    clock of the other. perf takes longer, so it is attached second. The program runs on CPUs whose idle threads perf observes."""
    cpus = find_cpus_with_idle_events(directory / "perf.data", program[0])
    if not cpus:
        test.skipTest("perf observes the idle thread of no CPU here")
    file = directory / ("it" + recording.SUFFIX)
    perf = "perf", "record", "-a", "-m", buffer, "-k", "CLOCK_MONOTONIC", "-e", SCHEDULER_EVENTS, "-o", directory / "perf.data"
    words = recording.command("--recorders", "off-cpu", "--offcpu-period", "10ms", *options, "-o", file, "--", *perf, "--", "taskset", "-c", ",".join(cpus), *program)
    finished = subprocess.run(words, capture_output=True, text=True, timeout=300, check=False)
    test.assertEqual(finished.returncode, 0, finished.stderr)
    test.assertFalse(re.search(r"(?i)\blost\b|off-cpu: .* lost", finished.stderr), finished.stderr)
    threads = [thread for thread in OffCpuFile(file).threads if thread.pcomm == "waits" and thread.born and thread.ended and thread.tid != thread.tgid]
    test.assertGreater(len(threads), 3)
    return finished, threads
