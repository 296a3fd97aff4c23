#!/usr/bin/python3
"""An independent plain reader of /proc: the values that a capture should contain for a thread or a process.

Opens each file by its whole path, reads it completely, and parses it in the simplest way, so that a reader can compare it
with proc(5) and the kernel. It shares no code with the plugins that it checks.

In scope:       expected values of the identity columns, of every procfs-sched metric, and of smaps_rollup.
Out of scope:   reading captures (file_json.py), comparing (compare_rows.py).

    plain_reader.py [ROOT [TGID/TID ...]]    prints what it finds
"""

import os
import re
import sys
from dataclasses import dataclass

PF_KTHREAD = 0x00200000
PF_WQ_WORKER = 0x00000020

POLICIES = {
    0: b"SCHED_OTHER", 1: b"SCHED_FIFO", 2: b"SCHED_RR", 3: b"SCHED_BATCH", 5: b"SCHED_IDLE", 6: b"SCHED_DEADLINE",
    7: b"SCHED_EXT",
}

# metric: number of the field in the table of `stat` in proc(5)
STAT_FIELDS = {
    "start_time_clock_ticks": 22, "nice": 19, "priority": 18, "rt_priority": 40, "processor": 39, "minflt": 10,
    "majflt": 12, "utime_clock_ticks": 14, "stime_clock_ticks": 15,
}
SCHEDSTAT_FIELDS = ["run_time_ns", "wait_time_ns", "timeslices"]
IO_KEYS = ["rchar", "wchar", "syscr", "syscw", "read_bytes", "write_bytes", "cancelled_write_bytes"]

# Keys of `sched` that the kernel prints only with CONFIG_SCHEDSTATS and kernel.sched_schedstats=1, by type of value.
STATISTICS_COUNTS = [
    "nr_wakeups", "nr_wakeups_local", "nr_wakeups_remote", "nr_wakeups_sync", "nr_wakeups_migrate",
    "nr_wakeups_affine", "nr_wakeups_affine_attempts", "nr_forced_migrations", "nr_failed_migrations_affine",
    "nr_failed_migrations_running", "nr_failed_migrations_hot", "wait_count", "iowait_count",
]
STATISTICS_MS = {
    "wait_sum": "wait_sum", "wait_max": "wait_max", "sleep_max": "sleep_max", "block_sum": "sum_block_runtime",
    "block_max": "block_max", "iowait_sum": "iowait_sum", "exec_max": "exec_max", "slice_max": "slice_max",
    "core_forceidle_sum": "core_forceidle_sum",
}
# Present on some kernels only, even with the switch on.
OPTIONAL_STATISTICS = {"sum_block_runtime", "core_forceidle_sum"}


@dataclass(frozen=True)
class Missing:
    """There is no value, for one of these reasons."""

    gaps: frozenset

    def __repr__(self):
        return "Missing(" + "|".join(sorted(self.gaps)) + ")"


def missing(*gaps):
    return Missing(frozenset(gaps))


class Tree:
    """One /proc, live or recorded, and the facts that apply to all its files."""

    def __init__(self, root="/"):
        self.root = os.fsencode(root)
        self.live = os.path.samefile(root, "/")
        self._sched_keys = None

    def path(self, relative):
        return os.path.join(self.root, b"proc", os.fsencode(relative))

    def read(self, relative):
        """Returns the file's bytes, or a Missing."""
        try:
            with open(self.path(relative), "rb", buffering=0) as file:
                return file.readall()
        except PermissionError:
            return missing("Denied")
        except OSError:
            # The thread exited. Files of a recording do not disappear, so there it never existed.
            return missing("ThreadGone") if self.live else missing("Unsupported", "ThreadGone")

    def processes(self):
        return sorted(int(name) for name in os.listdir(self.path("")) if name.isdigit())

    def threads(self):
        """Returns (tgid, tid) of all threads, in order."""
        found = []
        for tgid in self.processes():
            try:
                found += [(tgid, int(tid)) for tid in os.listdir(self.path(f"{tgid}/task"))]
            except OSError:
                pass  # exited meanwhile
        return sorted(found)

    def sched_keys(self):
        """Returns the last parts of all keys in the `sched` file of any thread: the keys that this kernel supports."""
        if self._sched_keys is None:
            texts = (self.read(f"{tgid}/task/{tid}/sched") for tgid, tid in self.threads())
            self._sched_keys = {key for text in texts if isinstance(text, bytes) for key in parse_sched(text)}
        return self._sched_keys

    def schedstats_switch(self):
        text = self.read("sys/kernel/sched_schedstats")
        return text.strip() if isinstance(text, bytes) else None

    def why_no_sched_key(self, key, statistics):
        if key in self.sched_keys():
            return missing("NotApplicable")
        if statistics and "nr_wakeups" not in self.sched_keys() and self.schedstats_switch() == b"0":
            return missing("SwitchedOff", "Unsupported") if key in OPTIONAL_STATISTICS else missing("SwitchedOff")
        return missing("Unsupported")


def key_values(text):
    """Parses `key: value` lines. The first line of a key counts."""
    found = {}
    for line in text.split(b"\n"):
        key, colon, value = line.partition(b":")
        if colon:
            found.setdefault(key.strip().decode("latin-1"), value.strip())
    return found


def parse_stat(text):
    """Returns the fields by number, from 3 on, which follow the last parenthesis. The name before it may contain any character."""
    fields = text[text.rindex(b")") + 1:].split()
    return {number + 3: field for number, field in enumerate(fields)}


def parse_sched(text):
    """Returns values by the last part of their key, except that the key `ext.enabled` stays whole.

        The header is the thread's name and may contain newlines and whole fake lines. It ends with a line of dashes.

    """
    _, dashes, body = text.partition(b"\n" + b"-" * 60)
    found = {}
    for key, value in key_values(body if dashes else b"").items():
        found[key if key == "ext.enabled" else key.rpartition(".")[2]] = value
    return found


def nanoseconds(text):
    """Parses `milliseconds.fraction` with up to six decimals. A number without a point is in nanoseconds. The result is at least 0."""
    whole, point, fraction = text.decode().partition(".")
    if not point:
        return max(0, int(whole))
    if whole.startswith("-") or fraction.startswith("-"):
        return 0
    return int(whole) * 1_000_000 + int(fraction.ljust(6, "0")[:6])


def cpu_list(text):
    cpus = []
    for part in text.decode().split(","):
        if part.strip():
            first, _, last = part.partition("-")
            cpus += range(int(first), int(last or first) + 1)
    return cpus


def same_for_all(names, gap):
    return {name: gap for name in names}


def stat_metrics(text):
    if isinstance(text, Missing):
        return same_for_all([*STAT_FIELDS, "policy"], text)
    fields = parse_stat(text)
    found = {metric: int(fields[number]) for metric, number in STAT_FIELDS.items()}
    policy = int(fields[41])
    found["policy"] = POLICIES.get(policy, b"SCHED_UNKNOWN(%d)" % policy)
    return found


def status_metrics(text, is_leader):
    names = ["state", "voluntary_csw", "nonvoluntary_csw"]
    if isinstance(text, Missing):
        return same_for_all(names, text) | {"nr_threads": text if is_leader else missing("NotApplicable", *text.gaps)}
    values = key_values(text)
    return {
        "state": values["State"][:1],
        "voluntary_csw": int(values["voluntary_ctxt_switches"]),
        "nonvoluntary_csw": int(values["nonvoluntary_ctxt_switches"]),
        "nr_threads": int(values["Threads"]) if is_leader else missing("NotApplicable"),
    }


def schedstat_metrics(text):
    if isinstance(text, Missing):
        return same_for_all(SCHEDSTAT_FIELDS, text)
    return dict(zip(SCHEDSTAT_FIELDS, (int(word) for word in text.split()[:3])))


def io_metrics(text):
    if isinstance(text, Missing):
        return same_for_all(IO_KEYS, text)
    values = key_values(text)
    return {key: int(values[key]) for key in IO_KEYS}


def sched_metrics(tree, text):
    own = ["nr_migrations", "ext_enabled", "fair_slice_ns", "voluntary_sleep_ns", *STATISTICS_COUNTS, *STATISTICS_MS]
    if isinstance(text, Missing):
        return same_for_all(own, text)
    values = parse_sched(text)

    def value(key, convert, statistics=False):
        return convert(values[key]) if key in values else tree.why_no_sched_key(key, statistics)

    found = {metric: value(metric, int, True) for metric in STATISTICS_COUNTS}
    found |= {metric: value(key, nanoseconds, True) for metric, key in STATISTICS_MS.items()}
    found["nr_migrations"] = value("nr_migrations", int)
    found["fair_slice_ns"] = value("slice", int)
    found["ext_enabled"] = value("ext.enabled", lambda text: int(text) != 0)
    found["voluntary_sleep_ns"] = voluntary_sleep(value("sum_sleep_runtime", nanoseconds, True), found["block_sum"])
    return found


def voluntary_sleep(sleep, block):
    for part in (sleep, block):
        if isinstance(part, Missing):
            return part
    return max(0, sleep - block)


def affinity(tree, tid, status):
    if tree.live:
        return sorted(os.sched_getaffinity(tid))
    return status if isinstance(status, Missing) else cpu_list(key_values(status)["Cpus_allowed_list"])


def name_of(text, stat):
    """Returns the name in a comm file. Removes the description of the current work from the name of a workqueue worker."""
    if isinstance(text, Missing):
        return text
    name = text.removesuffix(b"\n")
    is_worker = not isinstance(stat, Missing) and int(parse_stat(stat)[9]) & PF_WQ_WORKER != 0
    return re.sub(rb"^(kworker/[^:]*:[^-+]*)[-+].*", rb"\1", name, flags=re.DOTALL) if is_worker else name


def cgroup_of(text):
    """Returns the path in the unified hierarchy, whose line has number 0 and no controllers between the colons."""
    if isinstance(text, Missing):
        return text
    paths = [line[3:] for line in text.split(b"\n") if line.startswith(b"0::") and len(line) > 3]
    return paths[0] if paths else missing("Unsupported", "NotApplicable")


def read_thread(tree, tgid, tid):
    """Returns every column of a thread: name -> value or Missing. Texts are bytes."""
    base = f"{tgid}/task/{tid}"
    stat, status, schedstat, io, sched, comm, cgroup = (
        tree.read(f"{base}/{name}") for name in ("stat", "status", "schedstat", "io", "sched", "comm", "cgroup"))
    leader = tree.read(f"{tgid}/task/{tgid}/comm")
    found = {"tgid": tgid, "tid": tid, "comm": name_of(comm, stat), "pcomm": name_of(leader, stat), "cgroup": cgroup_of(cgroup)}
    found |= stat_metrics(stat) | status_metrics(status, tgid == tid) | schedstat_metrics(schedstat) | io_metrics(io)
    found |= sched_metrics(tree, sched)
    found["cpu_affinity"] = affinity(tree, tid, status)
    return found


def has_no_memory(tree, tgid):
    """Returns whether the process is a kernel thread or a zombie, which has no address space."""
    stat = tree.read(f"{tgid}/task/{tgid}/stat")
    if isinstance(stat, Missing):
        return False
    fields = parse_stat(stat)
    return int(fields[9]) & PF_KTHREAD != 0 or fields[3] in (b"Z", b"X")


def resident_bytes(tree, tgid):
    """Returns VmRSS of status, in bytes."""
    for line in tree.read(f"{tgid}/status").splitlines():
        if line.startswith(b"VmRSS:"):
            return int(line.split()[1]) * 1024
    return missing("NotApplicable")


def read_smaps_rollup(tree, tgid):
    """Returns a map key -> KiB, or a Missing."""
    text = tree.read(f"{tgid}/smaps_rollup")
    if not isinstance(text, Missing):
        lines = (line.split() for line in text.split(b"\n"))
        return {words[0][:-1].decode(): int(words[1]) for words in lines if len(words) == 3 and words[2] == b"kB"}
    return missing("NotApplicable") if has_no_memory(tree, tgid) else text


def main():
    tree = Tree(sys.argv[1] if len(sys.argv) > 1 else "/")
    wanted = [tuple(int(part) for part in word.split("/")) for word in sys.argv[2:]]
    for tgid, tid in wanted or tree.threads():
        print(f"{tgid}/{tid}")
        for name, value in sorted(read_thread(tree, tgid, tid).items()):
            print(f"  {name} = {value!r}")
        if tgid == tid:
            print(f"  process.smaps_rollup = {read_smaps_rollup(tree, tgid)!r}")


if __name__ == "__main__":
    main()
