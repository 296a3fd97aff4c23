"""Checks that the workload moved the metrics that it should move, in each thread and cgroup (guest/*.c contains the families)."""

from guest_output import Gap

MS = 1_000_000
PAGE = 4096
LONGEST_NAME = 15

# Thread -> metric -> minimum growth between the captures.
MINIMUM_GROWTH = {
    "vm-local": {"nr_wakeups": 30, "nr_wakeups_local": 30, "voluntary_csw": 30, "timeslices": 30},
    "vm-remote": {"nr_wakeups": 30, "nr_wakeups_remote": 30},
    "vm-sync": {"nr_wakeups_sync": 30},
    "vm-migrate": {"nr_wakeups_migrate": 20, "nr_migrations": 20},
    "drives": {"nr_wakeups_affine_attempts": 2, "nr_wakeups_affine": 1},  # it may run on any CPU, and every family wakes it
    "vm-sleep": {"voluntary_sleep_ns": 290 * MS},
    "vm-fsync": {"block_sum": MS, "iowait_sum": MS, "iowait_count": 5, "blkio_delay_count": 5, "blkio_delay_total_ns": MS,
                 "write_bytes": 40 * PAGE, "wchar": 40 * PAGE, "syscw": 40},
    "vm-direct": {"read_bytes": 100 * PAGE, "rchar": 100 * PAGE, "syscr": 100},
    "vm-majflt": {"majflt": 40},
    "vm-cancel": {"cancelled_write_bytes": 16 * PAGE, "wchar": 16 * PAGE},
    "vm-rivals": {"wait_sum": 50 * MS, "wait_count": 5, "wait_time_ns": 50 * MS, "nonvoluntary_csw": 5, "run_time_ns": 50 * MS,
                  "utime_clock_ticks": 5, "cpu_delay_count": 5, "cpu_delay_total_ns": 50 * MS},
    "vm-system": {"stime_clock_ticks": 2},
    "vm-limit": {"freepages_delay_count": 1, "freepages_delay_total_ns": 1, "minflt": 1000},
    "vm-swap": {"swapin_delay_count": 100, "swapin_delay_total_ns": MS},
    "vm-thrash": {"thrashing_delay_count": 10, "thrashing_delay_total_ns": MS},
    "vm-cow": {"wpcopy_delay_count": 1000, "wpcopy_delay_total_ns": MS, "minflt": 2000},
    "vm-compact": {"compact_delay_count": 1, "compact_delay_total_ns": 1},
}

# Sums over several threads, because the balancer may choose any of them.
MINIMUM_GROWTH_OF_GROUPS = {
    "vm-held": {"nr_failed_migrations_affine": 1},
    "vm-hot": {"nr_failed_migrations_hot": 1, "nr_failed_migrations_running": 1, "nr_forced_migrations": 1, "nr_migrations": 2},
}

# Thread -> metric -> minimum value after the work.
MINIMUM_VALUES = {
    "vm-sleep": {"sleep_max": 290 * MS},
    "vm-fsync": {"block_max": 1, "blkio_delay_max_ns": 1, "blkio_delay_min_ns": 1},
    "vm-rivals": {"wait_max": MS, "exec_max": MS, "slice_max": MS, "cpu_delay_max_ns": MS, "cpu_delay_min_ns": 1},
    "vm-compact": {"hiwater_rss_bytes": 64 << 20, "hiwater_vm_bytes": 64 << 20, "compact_delay_max_ns": 1},
    "vm-swap": {"swapin_delay_max_ns": 1}, "vm-thrash": {"thrashing_delay_max_ns": 1}, "vm-cow": {"wpcopy_delay_max_ns": 1},
    "vm-limit": {"freepages_delay_max_ns": 1},
}

# Thread -> metric -> value before and after the work.
SETTINGS = {
    "vm-fifo": {"policy": b"SCHED_FIFO", "rt_priority": 7, "priority": -8},
    "vm-rr": {"policy": b"SCHED_RR", "rt_priority": 3, "priority": -4},
    "vm-batch": {"policy": b"SCHED_BATCH", "nice": 5, "priority": 25},
    "vm-idle": {"policy": b"SCHED_IDLE"},
    "vm-dl": {"policy": b"SCHED_DEADLINE", "priority": -101},
    "vm-nice": {"policy": b"SCHED_OTHER", "nice": -7, "priority": 13},
    "vm-slice": {"policy": b"SCHED_OTHER", "fair_slice_ns": 7 * MS},
    "vm-pinned": {"cpu_affinity": [1]},
    "vm-local": {"cpu_affinity": [0], "processor": 0},
}

CGROUP_MINIMUM_GROWTH = {
    "throttled": {"cgroup.cpu.nr_periods": 4, "cgroup.cpu.nr_throttled": 3, "cgroup.cpu.throttled_usec": 50_000,
                  "cgroup.cpu.local.throttled_usec": 50_000, "cgroup.cpu.usage_usec": 20_000},
    "burst": {"cgroup.cpu.nr_bursts": 1, "cgroup.cpu.burst_usec": 100},
    "rest": {"cgroup.cpu.usage_usec": 1_000_000, "cgroup.cpu.user_usec": 400_000, "cgroup.cpu.system_usec": 50_000,
             "cgroup.psi.cpu.some.total_usec": 100_000},
    "swap": {"cgroup.psi.memory.some.total_usec": 1000}, "io": {"cgroup.psi.io.some.total_usec": 1000},
}
CGROUP_MINIMUM_VALUES = {"limit": {"cgroup.memory.peak": 7 << 20}, "swap": {"cgroup.memory.swap.current": 1 << 20}, "pids": {"cgroup.pids.peak": 2}}
CGROUP_SETTINGS = {
    "throttled": {"cgroup.cpu.max_quota_us": 10_000, "cgroup.cpu.max_period_us": 50_000},
    "io": {"cgroup.cpu.weight": 250, "cgroup.memory.low": 1 << 20, "cgroup.memory.min": 1 << 19},
    "limit": {"cgroup.memory.max": 8 << 20}, "swap": {"cgroup.memory.high": 7 << 20, "cgroup.memory.swap.max": 40 << 20},
    "pids": {"cgroup.pids.max": 2, "cgroup.pids.current": 1}, "quiet": {"cgroup.cpu.weight_nice": 3},
}
# Cgroup -> map metric -> key (None: sum over all keys) -> minimum growth.
CGROUP_MAP_MINIMUM_GROWTH = {
    "limit": {"cgroup.memory.events": {"max": 1}}, "swap": {"cgroup.memory.events": {"high": 1}}, "pids": {"cgroup.pids.events": {"max": 1}},
    "thrash": {"cgroup.memory.stat": {"workingset_refault_file": 1}},
    "io": {"cgroup.io.stat.wbytes": {None: 40 * PAGE}, "cgroup.io.stat.wios": {None: 40}, "cgroup.io.stat.rbytes": {None: 100 * PAGE},
           "cgroup.io.stat.rios": {None: 100}, "cgroup.io.stat.dbytes": {None: PAGE}, "cgroup.io.stat.dios": {None: 1}},
}
HOST_MINIMUM_GROWTH = {f"host.psi.{kind}.some.total_usec": 1000 for kind in ("cpu", "memory", "io")}


def is_unsupported(cell):
    return isinstance(cell, Gap) and cell.name == "Unsupported"  # checks_values.py checks whether this is correct


def check_growth(who, metric, least, before, after):
    """Returns a list with one complaint, or an empty list."""
    if is_unsupported(after):
        return []
    if isinstance(before, Gap) or isinstance(after, Gap):
        return [f"{who}: {metric} is {before!r}, then {after!r}"]
    return [] if after - before >= least else [f"{who}: {metric} grew by {after - before}, not by {least}"]


def check_minimum(who, metric, least, after):
    if is_unsupported(after):
        return []
    return [f"{who}: {metric} is {after!r}, not {least} or more"] if isinstance(after, Gap) or after < least else []


def find_thread(output, capture, comm):
    rows = output.threads_named(capture, comm)
    return next(iter(rows.values())) if len(rows) == 1 else None


def check_threads(output):
    wrong = []
    for comm, wanted in MINIMUM_GROWTH.items():
        before, after = find_thread(output, "first", comm), find_thread(output, "second", comm)
        if not before or not after:
            wrong.append(f"{comm} is not in both captures")
            continue
        for metric, least in wanted.items():
            wrong += check_growth(comm, metric, least, before[metric], after[metric])
    return wrong


def sum_of_group(output, capture, comm, metric):
    rows = [*output.threads_named(capture, comm).values(), *output.threads_named(capture, comm + "+").values()]
    return sum(row[metric] for row in rows if not isinstance(row[metric], Gap))


def check_balancer(output):
    return [sentence for comm, wanted in MINIMUM_GROWTH_OF_GROUPS.items() for metric, least in wanted.items()
            for sentence in check_growth(comm, metric, least, sum_of_group(output, "first", comm, metric), sum_of_group(output, "second", comm, metric))]


def check_extremes(output):
    return [sentence for comm, wanted in MINIMUM_VALUES.items() for metric, least in wanted.items()
            for sentence in check_minimum(comm, metric, least, find_thread(output, "second", comm)[metric])]


def check_settings(output):
    ext = {"vm-ext": {"policy": b"SCHED_EXT" if output.kernel.has("CONFIG_SCHED_CLASS_EXT") else b"SCHED_OTHER"}}
    found = ((comm, metric, value, find_thread(output, "second", comm)[metric]) for comm, wanted in (SETTINGS | ext).items()
             for metric, value in wanted.items())
    return [f"{comm}: {metric} is {now!r}, not {value!r}" for comm, metric, value, now in found if now != value and not is_unsupported(now)]


def check_heap(output, capture, program, file_name):
    """Compares the captured counters with those that jemalloc itself reports at the end. The program does not allocate while it sleeps."""
    counters = [tuple(int(word) for word in line.split()) for line in output.text(file_name).splitlines()]
    rows = {tid: row for (_, tid), row in output.threads_named(capture, program[:LONGEST_NAME]).items()}
    wrong = [] if len(counters) == len(rows) > 1 else [f"jemalloc reported {len(counters)} threads, captured are {len(rows)}"]
    for tid, allocated, deallocated in counters:
        found = rows[tid]["allocated_bytes"], rows[tid]["deallocated_bytes"]
        wrong += [f"{tid}: {found}, but jemalloc reported {allocated} and {deallocated}"] if found != (allocated, deallocated) else []
    return wrong


def heap(output):
    return check_heap(output, "second", "heap_preloaded", "heap")


def other_heaps(output):
    """Checks programs with linked, static and stripped jemalloc, which are built only where its development files are installed."""
    programs = [name for name in output.statuses if name.startswith("heap_")]
    return [f"{program}: {wrong}" for program in programs for wrong in check_heap(output, program, program, program)]


def cgroup_row(output, capture, name):
    return output.file(capture).cgroups_by_path()[b"/vm/" + name.encode()]


def total(cells, key):
    if isinstance(cells, Gap):
        return cells
    return cells.get(key, 0) if key else sum(cells.values())


def cgroups(output):
    wrong = []
    for name, wanted in CGROUP_MINIMUM_GROWTH.items():
        for metric, least in wanted.items():
            wrong += check_growth(name, metric, least, cgroup_row(output, "first", name)[metric], cgroup_row(output, "second", name)[metric])
    for name, wanted in CGROUP_MINIMUM_VALUES.items():
        for metric, least in wanted.items():
            wrong += check_minimum(name, metric, least, cgroup_row(output, "second", name)[metric])
    for name, wanted in CGROUP_MAP_MINIMUM_GROWTH.items():
        for metric, keys in wanted.items():
            before, after = cgroup_row(output, "first", name)[metric], cgroup_row(output, "second", name)[metric]
            wrong += [sentence for key, least in keys.items() for sentence in check_growth(name, metric, least, total(before, key), total(after, key))]
    found = ((name, metric, value, cgroup_row(output, "second", name)[metric]) for name, wanted in CGROUP_SETTINGS.items() for metric, value in wanted.items())
    return wrong + [f"{name}: {metric} is {now!r}, not {value!r}" for name, metric, value, now in found if now != value]


def host(output):
    return [sentence for metric, least in HOST_MINIMUM_GROWTH.items()
            for sentence in check_growth("host", metric, least, output.file("first").host[metric], output.file("second").host[metric])]


CHECKS = {"threads: the workload moves counters": check_threads, "balancer: refused and forced migrations are counted": check_balancer,
          "threads: extremes are reached": check_extremes, "threads: policies and settings": check_settings, "a heap of jemalloc": heap,
          "heaps of linked and static jemalloc": other_heaps,
          "cgroups: use, limits and refusals": cgroups, "host: pressure grows": host}
