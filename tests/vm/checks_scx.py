"""Schedulers that come and go are told as they are: for the host, and thread by thread.

What is here:   checks on the captures that guest/scx.sh made.
What is not:    building schedulers (schedulers.py).
"""

import json

import plain_cgroups
from agreement import ITER
from captured import Gap
from compare_rows import cell_differs

NONE = Gap("NotApplicable")
FAIR = (b"SCHED_OTHER", b"SCHED_BATCH", b"SCHED_IDLE", b"SCHED_EXT")
OPS = b"ctprof_test"

REFUSED = object()  # as many as had the policy before

# After each step: state, switch_all, nr_rejected, root_ops, and how often a scheduler was enabled so far.
STEPS = {
    "full": (b"enabled", True, 0, OPS, 1),
    "unloaded": (b"disabled", False, 0, NONE, 1),
    "partial": (b"enabled", False, 0, OPS, 2),
    "stalled": (b"disabled", False, 0, NONE, 3),
    "reject": (b"enabled", True, REFUSED, OPS, 4),
    "hotplug": (b"disabled", False, REFUSED, NONE, 4),
}
METRICS = ("state", "switch_all", "nr_rejected", "root_ops", "enable_seq")

# By which threads the scheduler is in charge of.
IN_CHARGE = {"full": FAIR, "partial": (b"SCHED_EXT",), "reject": FAIR}


def was_made(left):
    return "scx-full" in left.statuses


def loaded(left):
    """Every scheduler could be loaded; the stalling one too, before it was thrown out."""
    wrong = [f"{variant}: {left.notes.get(f'scx-{variant}', 'not loaded').strip()} {left.text(f'scx-{variant}.log').strip()}"
             for variant in ("full", "partial", "stall", "reject")
             if left.notes.get(f"scx-{variant}", "").strip() != "ready"]
    return wrong


def host(left):
    wrong = []
    refused = sum(row["policy"] == b"SCHED_EXT" for row in left.file("scx-partial").threads.values())
    for step, wanted in STEPS.items():
        values = [refused if value is REFUSED else value for value in wanted]
        row = left.file(f"scx-{step}").host
        found = {metric: row[f"host.sched_ext.{metric}"] for metric in METRICS}
        wrong += [f"{step}: {metric} is {found[metric]!r}, not {value!r}" for metric, value in zip(METRICS, values) if found[metric] != value]
        events = row["host.sched_ext.events"]
        if isinstance(events, dict) != (values[0] == b"enabled"):
            wrong.append(f"{step}: events are {events!r}")
    return wrong


def hotplug(left):
    first, last = (left.file(f"scx-{step}").host["host.sched_ext.hotplug_seq"] for step in ("full", "hotplug"))
    return [] if last == first + 2 else [f"hotplug_seq was {first}, and is {last} after a CPU went and came"]


def plain_host(left):
    wrong = []
    for step in STEPS:
        plain = plain_cgroups.read_host(left.plain(f"scx-{step}"), "sched_ext")
        found = left.file(f"scx-{step}").host
        wrong += [f"{step}: {name} {why}" for name, value in plain.items() if not name.endswith("events")
                  for why in [cell_differs(value, found[name])] if why]
    return wrong


def threads(left):
    """ext_enabled of each thread is what its policy makes of the scheduler, and what the kernel says in `sched`."""
    wrong = []
    for step in STEPS:
        captured = left.file(f"scx-{step}").threads
        for key, plain in left.plain_threads(f"scx-{step}").items():
            found, policy = captured[key]["ext_enabled"], plain["policy"]
            if found != plain["ext_enabled"] or found != (policy in IN_CHARGE.get(step, ())):
                wrong.append(f"{step}: {plain['comm']} of policy {policy}: ext_enabled is {found}, the file says {plain['ext_enabled']}")
    return wrong


def filler(left, capture):
    return next((plugin for plugin in (ITER, "procfs-sched") if "ext_enabled" in left.file(capture).columns_of("thread", plugin)), None)


def by_iterator(left):
    """task-iter knows while a scheduler is loaded too."""
    return [f"{step}: ext_enabled is filled by {filler(left, f'scx-{step}')}" for step in STEPS if filler(left, f"scx-{step}") != ITER]


def refusal(left, name):
    """State and reason of task-iter's offer."""
    plugins = json.loads(left.text(f"scx-{name}.json"))["plugins"]
    return next((offer["state"], offer["reason"]) for plugin in plugins if plugin["name"] == ITER for offer in plugin["offers"]
                if offer["metric"] == "ext_enabled")


def without_addresses(left):
    """Where the kernel tells no addresses, /proc is asked, and says the same; task-iter says what it lacks, and fills the rest."""
    wrong = [f"{name}: task-iter says {refusal(left, name)}" for name, word in (("denied", "CAP_SYSLOG"), ("hidden", "kernel.kptr_restrict"))
             if refusal(left, name)[0] != "Denied" or word not in refusal(left, name)[1]]
    wrong += [] if filler(left, "scx-denied") == "procfs-sched" else [f"ext_enabled is filled by {filler(left, 'scx-denied')}"]
    wrong += [] if "run_time_ns" in left.file("scx-denied").columns_of("thread", ITER) else ["task-iter fills nothing"]
    found = left.file("scx-denied").threads
    return wrong + [f"{plain['comm']}: ext_enabled is {found[key]['ext_enabled']}" for key, plain in left.plain_threads("scx-full").items()
                    if found[key]["ext_enabled"] != plain["ext_enabled"]]


def policies(left):
    """A refused thread loses its policy; one whose scheduler was thrown out does not."""
    found = {step: {row["policy"] for row in left.named(f"scx-{step}", "vm-ext").values()} for step in STEPS}
    wanted = {step: {b"SCHED_OTHER" if step in ("reject", "hotplug") else b"SCHED_EXT"} for step in STEPS}
    return [f"{step}: vm-ext has {found[step]}, not {wanted[step]}" for step in STEPS if found[step] != wanted[step]]


CHECKS = {"sched_ext: schedulers load": loaded, "sched_ext: the host's figures": host, "sched_ext: CPUs that go and come": hotplug,
          "sched_ext: equal plain readings": plain_host, "sched_ext: thread by thread": threads, "sched_ext: policies": policies,
          "sched_ext: in the iterator's pass": by_iterator, "sched_ext: without addresses": without_addresses}
