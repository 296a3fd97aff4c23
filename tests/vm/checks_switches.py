"""A switch of the kernel or a missing right changes gaps, of exactly the metrics that it is about, and nothing else.

What is here:   checks on the captures of guest/switches.sh.
What is not:    sched_ext (checks_scx.py).
"""

import expected
from captured import Gap

IO = ["rchar", "wchar", "syscr", "syscw", "read_bytes", "write_bytes", "cancelled_write_bytes"]
DELAYS_OF_SCHEDULER = ("cpu_delay_", "hiwater_")  # count whatever the switch says


def primary(plugin):
    return [metric for metric in expected.vocabulary() if metric["plugin"] == plugin and metric["entity"] == "thread"]


def known(left, metrics):
    """Those that the kernel has."""
    return [metric["name"] for metric in metrics if not expected.why_not(metric, left.kernel, left.taskstats_version)]


def schedstats(left):
    return known(left, (metric for metric in primary("procfs-sched") if "CONFIG_SCHEDSTATS" in metric["config_gates"]))


def delays(left):
    return [name for name in known(left, primary("taskstats")) if not name.startswith(DELAYS_OF_SCHEDULER)]


def reasons(left, capture, names, keys=None):
    """What the cells of our own threads are: "value", or the gap."""
    rows = left.file(capture).threads
    cells = (rows[key][name] for key in keys or left.plain_threads("before") for name in names if key in rows and name in rows[key])
    return {cell.name if isinstance(cell, Gap) else "value" for cell in cells}


def must_be(left, capture, names, wanted, keys=None):
    found = reasons(left, capture, names, keys)
    return [] if found == {wanted} else [f"{capture}: {', '.join(names[:3])} ... are {sorted(found)}, not {wanted}"]


def schedstats_off(left):
    return must_be(left, "schedstats-off", schedstats(left), "SwitchedOff") + must_be(left, "delayacct-off" if "delayacct-off" in left.statuses
                                                                                     else "second", schedstats(left), "value")


def delayacct_off(left):
    """A kernel without the switch accounts always."""
    if "delayacct-off" not in left.statuses:
        return [] if left.kernel.number < (5, 14) else ["there is no kernel.task_delayacct"]
    cpu = ["cpu_delay_count", "cpu_delay_total_ns"]
    return (must_be(left, "delayacct-off", delays(left), "SwitchedOff") + must_be(left, "delayacct-off", cpu, "value")
            + must_be(left, "schedstats-off", delays(left), "value"))


def of_user(left, capture):
    """Threads of the user's own."""
    return [key for key, row in left.file(capture).threads.items() if row["pcomm"] == b"heap_preloaded"]


def of_others(left, capture):
    own = of_user(left, capture)
    return [key for key in left.plain_threads("before") if key not in own]


def without_rights(left):
    """Root's threads are closed to it, its own are open, and netlink is closed whoever is asked for."""
    everything = known(left, primary("taskstats"))
    return (must_be(left, "user", everything, "Denied") + must_be(left, "user", IO, "Denied", of_others(left, "user"))
            + must_be(left, "user", IO, "value", of_user(left, "user"))
            + must_be(left, "user", ["policy", "run_time_ns", "voluntary_csw", *schedstats(left)], "value"))


def with_one_capability(left):
    """CAP_NET_ADMIN opens taskstats, CAP_SYS_PTRACE with CAP_DAC_READ_SEARCH the files of others; neither opens the other."""
    return (must_be(left, "net-admin", [*delays(left), "cpu_delay_count"], "value") + must_be(left, "net-admin", IO, "Denied", of_others(left, "net-admin"))
            + must_be(left, "reader", IO, "value"))


def yama(left):
    """From 1 on, ptrace of what is no child asks for a capability, even of one's own."""
    wrong = []
    for scope in (0, 1, 2):
        heap = ["allocated_bytes", "deallocated_bytes"]
        wrong += must_be(left, f"yama-{scope}", heap, "value" if scope == 0 else "Denied", of_user(left, f"yama-{scope}"))
        wrong += must_be(left, f"yama-{scope}-root", heap, "value", of_user(left, f"yama-{scope}-root"))
    return wrong


def pressure_off(left):
    """One cgroup has its pressure switched off, from 6.1 on; all others have it."""
    silent = left.file("second").cgroups_by_path()[b"/vm/silent"]["cgroup.psi.cpu.some.total_usec"]
    if left.kernel.number < (6, 1):
        return [] if isinstance(silent, int) else [f"pressure of a cgroup is {silent!r}"]
    return [] if silent == Gap("SwitchedOff") else [f"the cgroup that is switched off has {silent!r}"]


def removal(left):
    """Cgroups that go while they are captured leave gaps with that reason, and nothing worse."""
    rows = [row for capture in ("removal-1", "removal-2", "removal-3") for path, row in left.file(capture).cgroups_by_path().items()
            if path.startswith(b"/vm/gone-")]
    wrong = [] if int(left.notes.get("wandered", 0)) > 3 else ["hardly a cgroup was removed"]
    kinds = {cell.name for row in rows for cell in row.values() if isinstance(cell, Gap)}
    return wrong + ([f"gaps of cgroups that go: {sorted(kinds)}"] if not kinds <= {"ThreadGone", "Unsupported", "NotApplicable"} else [])


# ---- a kernel with nothing switched on ---------------------------------------------------------------------------------------------------

def all_are(left, capture, entity, names, wanted):
    rows = left.rows(capture, entity).values()
    found = {cell.name if isinstance(cell, Gap) else "value" for row in rows for name, cell in row.items() if name in names}
    found -= {"ThreadGone"}  # the kernel's own come and go
    return [] if found == {wanted} else [f"{capture}: {', '.join(names[:2])} ... are {sorted(found)}, not {wanted}"]


def bare(left):
    """schedstats and delayacct by their switches, pressure by the command line."""
    pressure = known(left, (metric for metric in expected.vocabulary() if metric["plugin"] == "psi"))
    return (all_are(left, "bare", "thread", schedstats(left), "SwitchedOff") + all_are(left, "bare", "thread", delays(left), "SwitchedOff")
            + all_are(left, "bare", "thread", ["cpu_delay_count", "run_time_ns"], "value")
            + all_are(left, "bare", "cgroup", [name for name in pressure if name.startswith("cgroup.")], "SwitchedOff")
            + all_are(left, "bare", "host", [name for name in pressure if name.startswith("host.")], "SwitchedOff"))


def interrupts(left):
    """What the kernel was not configured for is no value, also where no pressure file tells so."""
    names = [metric["name"] for metric in primary("taskstats") if expected.is_constructed(metric)]
    return all_are(left, "bare", "thread", names, "Unsupported")


def switched_on_later(left):
    """The kernel does not account for threads that are older than the switch, the suite's own shell among them. task-iter says so of each;
    netlink shows zeros, and a note says of how many threads there is nothing else."""
    names, shell = delays(left), [key for key in left.file("bare").threads if key in left.file("later").threads]
    wrong = must_be(left, "later", names, "PredatesSwitch", shell) + all_are(left, "later-files", "thread", names, "value")
    return wrong if "task_delayacct" in left.said("later-files") else [*wrong, f"no note on older threads: {left.said('later-files')}"]


def of_cgroup(left, capture, path, names):
    row = left.file(capture).cgroups_by_path()[path]
    return {row[name].name if isinstance(row[name], Gap) else "value" for name in names}


def treated(left):
    """doctor told root three kinds of commands; they ran, changed what they were told for, and are not told again."""
    wanted = ["sysctl -w kernel.sched_schedstats=1", "sysctl -w kernel.task_delayacct=1", "echo +memory >'/sys/fs/cgroup/cgroup.subtree_control'"]
    wrong = [f"not told: {command}" for command in wanted if command not in left.text("doctor.before").splitlines()]
    wrong += [f"still told: {line}" for line in left.text("doctor.after").splitlines() if "-> as root" in line]
    wrong += ["the commands failed"] if "failed" in left.notes else []
    switched = [*schedstats(left), *delays(left)]
    wrong += all_are(left, "untreated", "thread", switched, "SwitchedOff") + all_are(left, "treated", "thread", schedstats(left), "value")
    wrong += ["delays are still off"] if Gap("SwitchedOff") in [row[name] for row in left.file("treated").threads.values() for name in delays(left)] else []
    memory = ["cgroup.memory.current", "cgroup.memory.max"]
    found = [of_cgroup(left, capture, b"/below", memory) for capture in ("untreated", "treated")]
    return wrong if found == [{"SwitchedOff"}, {"value"}] else [*wrong, f"memory of a cgroup was and is {found}"]


BARE_CHECKS = {"nothing switched on": bare, "no interrupt times without pressure": interrupts, "delayacct switched on later": switched_on_later,
               "what doctor told was done": treated}

CHECKS = {"schedstats off and on": schedstats_off, "delayacct off and on": delayacct_off, "a user without rights": without_rights,
          "a user with one capability": with_one_capability, "yama 0 to 2": yama, "pressure off for a cgroup": pressure_off,
          "cgroups removed during captures": removal}
