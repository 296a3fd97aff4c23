"""Checks captures while BPF schedulers are loaded and unloaded: the values of the host and of each thread.

In scope:       checks on the captures of guest/scx.sh.
Out of scope:   building schedulers (schedulers.py).
"""

import json

import plain_cgroups
from agreement import ITER
from guest_output import Gap
from compare_rows import cell_differs

NONE = Gap("NotApplicable")
FAIR = (b"SCHED_OTHER", b"SCHED_BATCH", b"SCHED_IDLE", b"SCHED_EXT")
OPS = b"ctprof_test"

REFUSED = object()  # the expected number is that of the threads that had the policy before

# After each step: state, switch_all, nr_rejected, root_ops, and how often a scheduler has been enabled so far.
STEPS = {
    "full": (b"enabled", True, 0, OPS, 1),
    "unloaded": (b"disabled", False, 0, NONE, 1),
    "partial": (b"enabled", False, 0, OPS, 2),
    "stalled": (b"disabled", False, 0, NONE, 3),
    "reject": (b"enabled", True, REFUSED, OPS, 4),
    "hotplug": (b"disabled", False, REFUSED, NONE, 4),
}
METRICS = ("state", "switch_all", "nr_rejected", "root_ops", "enable_seq")

# Policies whose threads the scheduler schedules.
SCHEDULED_POLICIES = {"full": FAIR, "partial": (b"SCHED_EXT",), "reject": FAIR}


def is_present(output):
    return "scx-full" in output.statuses


def all_schedulers_load(output):
    """Every scheduler was loaded, including the one that stalls, before the kernel removed it."""
    wrong = [f"{variant}: {output.notes.get(f'scx-{variant}', 'not loaded').strip()} {output.text(f'scx-{variant}.log').strip()}"
             for variant in ("full", "partial", "stall", "reject")
             if output.notes.get(f"scx-{variant}", "").strip() != "ready"]
    return wrong


def host(output):
    wrong = []
    refused = sum(row["policy"] == b"SCHED_EXT" for row in output.file("scx-partial").threads.values())
    for step, wanted in STEPS.items():
        values = [refused if value is REFUSED else value for value in wanted]
        row = output.file(f"scx-{step}").host
        found = {metric: row[f"host.sched_ext.{metric}"] for metric in METRICS}
        wrong += [f"{step}: {metric} is {found[metric]!r}, not {value!r}" for metric, value in zip(METRICS, values) if found[metric] != value]
        events = row["host.sched_ext.events"]
        if isinstance(events, dict) != (values[0] == b"enabled"):
            wrong.append(f"{step}: events are {events!r}")
    return wrong


def hotplug(output):
    first, last = (output.file(f"scx-{step}").host["host.sched_ext.hotplug_seq"] for step in ("full", "hotplug"))
    return [] if last == first + 2 else [f"hotplug_seq was {first}, and is {last} after a CPU went offline and came back"]


def plain_host(output):
    wrong = []
    for step in STEPS:
        plain = plain_cgroups.read_host(output.plain(f"scx-{step}"), "sched_ext")
        found = output.file(f"scx-{step}").host
        wrong += [f"{step}: {name} {why}" for name, value in plain.items() if not name.endswith("events")
                  for why in [cell_differs(value, found[name])] if why]
    return wrong


def threads(output):
    """ext_enabled of each thread follows from its policy and the scheduler, and equals the kernel's file `sched`."""
    wrong = []
    for step in STEPS:
        captured = output.file(f"scx-{step}").threads
        for key, plain in output.plain_threads(f"scx-{step}").items():
            found, policy = captured[key]["ext_enabled"], plain["policy"]
            if found != plain["ext_enabled"] or found != (policy in SCHEDULED_POLICIES.get(step, ())):
                wrong.append(f"{step}: {plain['comm']} of policy {policy}: ext_enabled is {found}, the file contains {plain['ext_enabled']}")
    return wrong


def filling_plugin(output, capture):
    return next((plugin for plugin in (ITER, "procfs-sched") if "ext_enabled" in output.file(capture).columns_of("thread", plugin)), None)


def filled_by_iterator(output):
    """task-iter fills ext_enabled also while a scheduler is loaded."""
    return [f"{step}: ext_enabled is filled by {filling_plugin(output, f'scx-{step}')}" for step in STEPS if filling_plugin(output, f"scx-{step}") != ITER]


def refusal(output, name):
    """Returns state and reason of task-iter's offer of ext_enabled."""
    plugins = json.loads(output.text(f"scx-{name}.json"))["plugins"]
    return next((offer["state"], offer["reason"]) for plugin in plugins if plugin["name"] == ITER for offer in plugin["offers"]
                if offer["metric"] == "ext_enabled")


def works_without_addresses(output):
    """Where the kernel hides addresses, ext_enabled comes from /proc with the same values. task-iter reports the missing right, and fills the rest."""
    wrong = [f"{name}: task-iter reports {refusal(output, name)}" for name, word in (("denied", "CAP_SYSLOG"), ("hidden", "kernel.kptr_restrict"))
             if refusal(output, name)[0] != "Denied" or word not in refusal(output, name)[1]]
    wrong += [] if filling_plugin(output, "scx-denied") == "procfs-sched" else [f"ext_enabled is filled by {filling_plugin(output, 'scx-denied')}"]
    wrong += [] if "run_time_ns" in output.file("scx-denied").columns_of("thread", ITER) else ["task-iter fills nothing"]
    found = output.file("scx-denied").threads
    return wrong + [f"{plain['comm']}: ext_enabled is {found[key]['ext_enabled']}" for key, plain in output.plain_threads("scx-full").items()
                    if found[key]["ext_enabled"] != plain["ext_enabled"]]


def policies(output):
    """A thread that the scheduler refuses loses its policy. A thread whose scheduler the kernel removed keeps it."""
    found = {step: {row["policy"] for row in output.threads_named(f"scx-{step}", "vm-ext").values()} for step in STEPS}
    wanted = {step: {b"SCHED_OTHER" if step in ("reject", "hotplug") else b"SCHED_EXT"} for step in STEPS}
    return [f"{step}: vm-ext has {found[step]}, not {wanted[step]}" for step in STEPS if found[step] != wanted[step]]


CHECKS = {"sched_ext: schedulers load": all_schedulers_load, "sched_ext: values of the host": host, "sched_ext: CPU hotplug": hotplug,
          "sched_ext: equal plain readings": plain_host, "sched_ext: thread by thread": threads, "sched_ext: policies": policies,
          "sched_ext: in the iterator's pass": filled_by_iterator, "sched_ext: without addresses": works_without_addresses}
