"""Compares values of task-iter with those of the files and netlink. Takes three captures of one host: by the files, by task-iter, and by the
files again.

In scope:       comparing rows of loaded files.
Out of scope:   making the captures (task_iter_test.py, and the guests of tests/vm).
"""

from file_json import Gap

FILES = "procfs-sched,taskstats"
ITER = "task-iter"

GROWING = {"cumulative", "peak"}
# Metrics of a process, which change although the thread sleeps.
PROCESS_METRICS = {"nr_threads", "hiwater_rss_bytes", "hiwater_vm_bytes", "pcomm"}
# The kernel scales these to match the values that it reported before, and may move up to two ticks between them (see `help utime_clock_ticks`).
SCALED = {"utime_clock_ticks", "stime_clock_ticks"}
# task_struct keeps these in cases where the files no longer show them.
LONGER_IN_TASK_STRUCT = {"fair_slice_ns"}
# Not available in any file.
IN_PROGRESS = {"run_in_progress_ns", "wait_in_progress_ns"}
# Compared with the values of jemalloc itself in tests/jemalloc.
HEAP = {"allocated_bytes", "deallocated_bytes"}
IDENTITY = ("tgid", "tid", "comm", "pcomm", "cgroup", "start_time_clock_ticks", "parent", "kernel_thread")


def was_asleep(before, after):
    """Returns whether the thread neither ran nor waited for a CPU between two captures."""
    return all(before[name] == after[name] for name in ("run_time_ns", "wait_time_ns", "timeslices", "start_time_clock_ticks"))


def is_unknown(name, files, ours):
    """Returns whether the value is unknown to task-iter. Netlink reports zero for delays that were not accounted. For a thread that the kernel
    hides from BPF programs, /proc has no delays."""
    if ours == Gap("Denied"):
        return "_delay_" in name or name.startswith("hiwater_")
    return files == 0 and ours == Gap("PredatesSwitch")


class Agreement:
    """Compares two captures by the files, `before` and `after`, with one by task-iter in between, `ours`."""

    def __init__(self, before, ours, after):
        self.before, self.ours, self.after = before, ours, after
        self.families = {name: metric["family"] for name, metric in before.metrics.items()}
        self.names = ours.columns_of("thread", ITER)
        self.files = set().union(*(before.columns_of("thread", plugin) for plugin in FILES.split(",")))
        self.shared = self.names & self.files
        self.in_both = [key for key, row in before.threads.items()
                      if key in after.threads and row["start_time_clock_ticks"] == after.threads[key]["start_time_clock_ticks"]]
        self.sleeping = {key for key in self.in_both if was_asleep(before.threads[key], after.threads[key])}

    def only_in_task_iter(self):
        """Returns the metrics that task-iter fills although no file has them."""
        return self.names - self.files - set(IDENTITY) - LONGER_IN_TASK_STRUCT - HEAP - IN_PROGRESS

    def threads_without_row(self):
        return [f"{key} is not listed" for key in self.in_both if key not in self.ours.threads]

    def find_differences(self, runs=()):
        """Returns all differences. Of the threads that ran, compares only kernel threads and the processes `runs`: execve may have replaced any
        other process, whose values are then those of another thread."""
        wrong = self.threads_without_row() + list(self.ours.faults())
        for key in self.in_both if not wrong else ():
            rows = [file.threads[key] for file in (self.before, self.ours, self.after)]
            if key in self.sleeping:
                wrong += self.differences(key, rows)
                wrong += self.check_not_running(key)
            elif key[0] in runs or rows[0]["hiwater_vm_bytes"] == Gap("NotApplicable"):
                wrong += self.values_out_of_range(key, rows)
        return wrong

    def check_not_running(self, key):
        """Returns a message if a thread that did not run seems to be running. It may still have waited the whole time, even just before it
        fell asleep."""
        value = self.ours.threads[key].get("run_in_progress_ns", 0)
        return [f"{key} did not run, but run_in_progress_ns is {value}"] if value and not isinstance(value, Gap) else []

    def differences(self, key, rows):
        before, ours, after = rows
        for name in [*self.shared, *IDENTITY]:
            moved = before[name] != after[name]
            # The file may have been read before the thread fell asleep, although schedstat was read after it.
            same = ours[name] in (before[name], after[name])
            if same or moved and name in PROCESS_METRICS or is_unknown(name, before[name], ours[name]):
                continue
            yield f"{key} {before['comm']!r}: {name} is {ours[name]!r}, not {before[name]!r}, and then {after[name]!r}"

    def values_out_of_range(self, key, rows):
        before, ours, after = rows
        for name in self.shared:
            if isinstance(before[name], Gap) or isinstance(after[name], Gap):
                continue
            if is_unknown(name, before[name], ours[name]) or self.families[name] not in GROWING or name.endswith("_min_ns"):
                continue
            slack = 2 if name in SCALED else 0
            if isinstance(ours[name], Gap) or not before[name] - slack <= ours[name] <= after[name] + slack:
                yield f"{key} {before['comm']!r}: {name} is {ours[name]!r}, before {before[name]!r}, after {after[name]!r}"
