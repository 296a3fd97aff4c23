"""Whether task-iter says of threads what the files and netlink say: three captures of one host, by the files, by task-iter, by the files again.

What is here:   comparing rows of loaded files.
What is not:    making the captures (task_iter_test.py, and the guests of tests/vm).
"""

from file_json import Gap

FILES = "procfs-sched,taskstats"
ITER = "task-iter"

GROWING = {"cumulative", "peak"}
# Figures of a process, which move although the thread sleeps.
OF_PROCESS = {"nr_threads", "hiwater_rss_bytes", "hiwater_vm_bytes", "pcomm"}
# The kernel scales them with what it told before, and may shift two ticks from one to the other (help utime_clock_ticks says so).
SCALED = {"utime_clock_ticks", "stime_clock_ticks"}
# What task_struct has for longer than a file shows it.
MORE = {"fair_slice_ns"}
# What no file tells.
IN_PROGRESS = {"run_in_progress_ns", "wait_in_progress_ns"}
# Compared with what jemalloc says itself, in tests/jemalloc.
HEAP = {"allocated_bytes", "deallocated_bytes"}
IDENTITY = ("tgid", "tid", "comm", "pcomm", "cgroup", "start_time_clock_ticks", "parent", "kernel_thread")


def slept(before, after):
    """Neither ran nor waited for a CPU."""
    return all(before[name] == after[name] for name in ("run_time_ns", "wait_time_ns", "timeslices", "start_time_clock_ticks"))


def is_unknown(name, files, ours):
    """Netlink shows zero for what nobody accounted for; and of threads that a kernel keeps from BPF programs, /proc has no delays."""
    if ours == Gap("Denied"):
        return "_delay_" in name or name.startswith("hiwater_")
    return files == 0 and ours == Gap("PredatesSwitch")


class Agreement:
    """`before` and `after` by the files, `ours` by task-iter."""

    def __init__(self, before, ours, after):
        self.before, self.ours, self.after = before, ours, after
        self.families = {name: metric["family"] for name, metric in before.metrics.items()}
        self.names = ours.columns_of("thread", ITER)
        self.files = set().union(*(before.columns_of("thread", plugin) for plugin in FILES.split(",")))
        self.shared = self.names & self.files
        self.there = [key for key, row in before.threads.items()
                      if key in after.threads and row["start_time_clock_ticks"] == after.threads[key]["start_time_clock_ticks"]]
        self.asleep = {key for key in self.there if slept(before.threads[key], after.threads[key])}

    def alone(self):
        """What task-iter fills, and no file has."""
        return self.names - self.files - set(IDENTITY) - MORE - HEAP - IN_PROGRESS

    def unlisted(self):
        return [f"{key} is not listed" for key in self.there if key not in self.ours.threads]

    def wrong(self, runs=()):
        """Of threads that ran, kernel threads are compared, and the processes `runs`: any other may have been replaced by execve, and its
        figures be another thread's."""
        wrong = self.unlisted() + list(self.ours.faults())
        for key in self.there if not wrong else ():
            rows = [file.threads[key] for file in (self.before, self.ours, self.after)]
            if key in self.asleep:
                wrong += self.differences(key, rows)
                wrong += self.not_over(key)
            elif key[0] in runs or rows[0]["hiwater_vm_bytes"] == Gap("NotApplicable"):
                wrong += self.outside(key, rows)
        return wrong

    def not_over(self, key):
        """Who did not run was not running; but may have waited all the time, even on the way into a sleep."""
        value = self.ours.threads[key].get("run_in_progress_ns", 0)
        return [f"{key} did not run, but run_in_progress_ns is {value}"] if value and not isinstance(value, Gap) else []

    def differences(self, key, rows):
        before, ours, after = rows
        for name in [*self.shared, *IDENTITY]:
            moved = before[name] != after[name]
            # A file that was read before schedstat may be older than the sleep.
            same = ours[name] in (before[name], after[name])
            if same or moved and name in OF_PROCESS or is_unknown(name, before[name], ours[name]):
                continue
            yield f"{key} {before['comm']!r}: {name} is {ours[name]!r}, not {before[name]!r}, and then {after[name]!r}"

    def outside(self, key, rows):
        before, ours, after = rows
        for name in self.shared:
            if isinstance(before[name], Gap) or isinstance(after[name], Gap):
                continue
            if is_unknown(name, before[name], ours[name]) or self.families[name] not in GROWING or name.endswith("_min_ns"):
                continue
            slack = 2 if name in SCALED else 0
            if isinstance(ours[name], Gap) or not before[name] - slack <= ours[name] <= after[name] + slack:
                yield f"{key} {before['comm']!r}: {name} is {ours[name]!r}, before {before[name]!r}, after {after[name]!r}"
