"""Checks that a kernel switch or a missing right changes the gaps of exactly the metrics that depend on it.

In scope:       checks on the captures of guest/switches.sh.
Out of scope:   sched_ext (checks_scx.py).
"""

import expected
from guest_output import Gap

IO = ["rchar", "wchar", "syscr", "syscw", "read_bytes", "write_bytes", "cancelled_write_bytes"]
DELAYS_OF_SCHEDULER = ("cpu_delay_", "hiwater_")  # counted independently of the switch


def primary_metrics(plugin):
    return [metric for metric in expected.vocabulary() if metric["plugin"] == plugin and metric["entity"] == "thread"]


def supported_names(output, metrics):
    """Returns the names of the metrics that the kernel has."""
    return [metric["name"] for metric in metrics if not expected.why_missing(metric, output.kernel, output.taskstats_version)]


def schedstats(output):
    return supported_names(output, (metric for metric in primary_metrics("procfs-sched") if "CONFIG_SCHEDSTATS" in metric["config_gates"]))


def delays(output):
    return [name for name in supported_names(output, primary_metrics("taskstats")) if not name.startswith(DELAYS_OF_SCHEDULER)]


def cell_states(output, capture, names, keys=None):
    """Returns the states of the cells of the test's own threads: "value", or the gap."""
    rows = output.file(capture).threads
    cells = (rows[key][name] for key in keys or output.plain_threads("before") for name in names if key in rows and name in rows[key])
    return {cell.name if isinstance(cell, Gap) else "value" for cell in cells}


def check_cells(output, capture, names, wanted, keys=None):
    found = cell_states(output, capture, names, keys)
    return [] if found == {wanted} else [f"{capture}: {', '.join(names[:3])} ... are {sorted(found)}, not {wanted}"]


def schedstats_off(output):
    return check_cells(output, "schedstats-off", schedstats(output), "SwitchedOff") + check_cells(output, "delayacct-off" if "delayacct-off" in output.statuses
                                                                                     else "second", schedstats(output), "value")


def delayacct_off(output):
    """A kernel without the switch always accounts delays."""
    if "delayacct-off" not in output.statuses:
        return [] if output.kernel.number < (5, 14) else ["there is no kernel.task_delayacct"]
    cpu = ["cpu_delay_count", "cpu_delay_total_ns"]
    return (check_cells(output, "delayacct-off", delays(output), "SwitchedOff") + check_cells(output, "delayacct-off", cpu, "value")
            + check_cells(output, "schedstats-off", delays(output), "value"))


def threads_of_user(output, capture):
    """Returns the threads of the unprivileged user."""
    return [key for key, row in output.file(capture).threads.items() if row["pcomm"] == b"heap_preloaded"]


def threads_of_others(output, capture):
    own = threads_of_user(output, capture)
    return [key for key in output.plain_threads("before") if key not in own]


def reads_only_own_threads(output):
    """The user cannot read root's threads, but can read its own. Netlink is denied for all threads."""
    everything = supported_names(output, primary_metrics("taskstats"))
    return (check_cells(output, "user", everything, "Denied") + check_cells(output, "user", IO, "Denied", threads_of_others(output, "user"))
            + check_cells(output, "user", IO, "value", threads_of_user(output, "user"))
            + check_cells(output, "user", ["policy", "run_time_ns", "voluntary_csw", *schedstats(output)], "value"))


def reads_with_one_capability(output):
    """CAP_NET_ADMIN permits taskstats, CAP_SYS_PTRACE with CAP_DAC_READ_SEARCH the files of other users. Neither permits the other."""
    return (check_cells(output, "net-admin", [*delays(output), "cpu_delay_count"], "value")
            + check_cells(output, "net-admin", IO, "Denied", threads_of_others(output, "net-admin"))
            + check_cells(output, "reader", IO, "value"))


def yama(output):
    """From scope 1 on, ptrace of a process that is not a child needs a capability, also for the same user."""
    wrong = []
    for scope in (0, 1, 2):
        heap = ["allocated_bytes", "deallocated_bytes"]
        wrong += check_cells(output, f"yama-{scope}", heap, "value" if scope == 0 else "Denied", threads_of_user(output, f"yama-{scope}"))
        wrong += check_cells(output, f"yama-{scope}-root", heap, "value", threads_of_user(output, f"yama-{scope}-root"))
    return wrong


def pressure_off(output):
    """Pressure is disabled for one cgroup, from 6.1 on. All others have it."""
    silent = output.file("second").cgroups_by_path()[b"/vm/silent"]["cgroup.psi.cpu.some.total_usec"]
    if output.kernel.number < (6, 1):
        return [] if isinstance(silent, int) else [f"pressure of a cgroup is {silent!r}"]
    return [] if silent == Gap("SwitchedOff") else [f"the cgroup that is switched off has {silent!r}"]


def removal(output):
    """Cgroups that are removed during a capture have gaps with that reason, and no other errors."""
    rows = [row for capture in ("removal-1", "removal-2", "removal-3") for path, row in output.file(capture).cgroups_by_path().items()
            if path.startswith(b"/vm/gone-")]
    wrong = [] if int(output.notes.get("wandered", 0)) > 3 else ["too few cgroups were removed"]
    kinds = {cell.name for row in rows for cell in row.values() if isinstance(cell, Gap)}
    return wrong + ([f"gaps of removed cgroups: {sorted(kinds)}"] if not kinds <= {"ThreadGone", "Unsupported", "NotApplicable"} else [])


# ---- a kernel with all switches off -----------------------------------------------------------------------------------------------------

def check_all_cells(output, capture, entity, names, wanted):
    rows = output.rows(capture, entity).values()
    found = {cell.name if isinstance(cell, Gap) else "value" for row in rows for name, cell in row.items() if name in names}
    found -= {"ThreadGone"}  # kernel threads may exit
    return [] if found == {wanted} else [f"{capture}: {', '.join(names[:2])} ... are {sorted(found)}, not {wanted}"]


def has_only_gaps_of_switches(output):
    """schedstats and delayacct are disabled by their switches, pressure by the command line."""
    pressure = supported_names(output, (metric for metric in expected.vocabulary() if metric["plugin"] == "psi"))
    return (check_all_cells(output, "bare", "thread", schedstats(output), "SwitchedOff")
            + check_all_cells(output, "bare", "thread", delays(output), "SwitchedOff")
            + check_all_cells(output, "bare", "thread", ["cpu_delay_count", "run_time_ns"], "value")
            + check_all_cells(output, "bare", "cgroup", [name for name in pressure if name.startswith("cgroup.")], "SwitchedOff")
            + check_all_cells(output, "bare", "host", [name for name in pressure if name.startswith("host.")], "SwitchedOff"))


def interrupts(output):
    """Metrics that the kernel is not configured for have no value, even without a pressure file that shows this."""
    names = [metric["name"] for metric in primary_metrics("taskstats") if expected.is_constructed(metric)]
    return check_all_cells(output, "bare", "thread", names, "Unsupported")


def switched_on_later(output):
    """The kernel does not account delays for threads that started before the switch was set, such as the suite's shell. task-iter marks each of
    them. Netlink shows zeros, and a note gives the number of threads that no other source covers."""
    names, shell = delays(output), [key for key in output.file("bare").threads if key in output.file("later").threads]
    wrong = check_cells(output, "later", names, "PredatesSwitch", shell) + check_all_cells(output, "later-files", "thread", names, "value")
    return wrong if "task_delayacct" in output.log_of("later-files") else [*wrong, f"no note on older threads: {output.log_of('later-files')}"]


def of_cgroup(output, capture, path, names):
    row = output.file(capture).cgroups_by_path()[path]
    return {row[name].name if isinstance(row[name], Gap) else "value" for name in names}


def applies_remedies(output):
    """doctor suggested three kinds of commands to root. They ran, had the promised effect, and are not suggested again."""
    wanted = ["sysctl -w kernel.sched_schedstats=1", "sysctl -w kernel.task_delayacct=1", "echo +memory >'/sys/fs/cgroup/cgroup.subtree_control'"]
    wrong = [f"not suggested: {command}" for command in wanted if command not in output.text("doctor.before").splitlines()]
    wrong += [f"still suggested: {line}" for line in output.text("doctor.after").splitlines() if "-> as root" in line]
    wrong += ["the commands failed"] if "failed" in output.notes else []
    switched = [*schedstats(output), *delays(output)]
    wrong += check_all_cells(output, "untreated", "thread", switched, "SwitchedOff") + check_all_cells(output, "treated", "thread", schedstats(output), "value")
    wrong += ["delays are still off"] if Gap("SwitchedOff") in [row[name] for row in output.file("treated").threads.values() for name in delays(output)] else []
    memory = ["cgroup.memory.current", "cgroup.memory.max"]
    found = [of_cgroup(output, capture, b"/below", memory) for capture in ("untreated", "treated")]
    return wrong if found == [{"SwitchedOff"}, {"value"}] else [*wrong, f"memory of a cgroup was and is {found}"]


BARE_CHECKS = {"nothing switched on": has_only_gaps_of_switches, "no interrupt times without pressure": interrupts, "delayacct switched on later": switched_on_later,
               "commands of doctor have an effect": applies_remedies}

CHECKS = {"schedstats off and on": schedstats_off, "delayacct off and on": delayacct_off, "a user without rights": reads_only_own_threads,
          "a user with one capability": reads_with_one_capability, "yama 0 to 2": yama, "pressure off for a cgroup": pressure_off,
          "cgroups removed during captures": removal}
