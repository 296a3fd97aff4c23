"""What must be so of the service, by what a guest left (guest/steps.sh). Each check returns sentences about what is wrong.

What is here:   the checks, in the order of the two boots.
What is not:    making a guest and booting it (soak_unit.py).
"""

import json
import re
import subprocess

CAPABILITIES = {12: "net_admin", 2: "dac_read_search", 19: "sys_ptrace", 34: "syslog", 38: "perfmon", 39: "bpf"}
EVERY = 60  # seconds, as it is shipped
SHORT = 5  # as an administrator sets it
# A guest's CPUs are emulated, and stand still whenever their host likes.
SLACK = 10
SECOND = 1_000_000_000


class Left:
    """What a guest left in /out."""

    def __init__(self, directory):
        self.directory = directory

    def text(self, name):
        path = self.directory / name
        return path.read_text(errors="replace") if path.exists() else ""

    def state(self, name):
        return dict(line.split("=", 1) for line in self.text(f"state-{name}").splitlines() if "=" in line)

    def windows_at(self, name):
        return int(self.state(name)["Windows"])

    def said(self, name):
        """(status, what it said)"""
        words = self.text(f"said-{name}").rsplit("status ", 1)
        return int(words[1]), words[0]

    def blocks(self):
        """Every window of the log: its lines, as they are."""
        for path in sorted((self.directory / "log").glob("*.ctprof.zst")):
            yield from self.read(path)

    @staticmethod
    def read(path):
        """The windows of a file."""
        text = subprocess.run(["zstd", "-dcq", str(path)], check=True, capture_output=True, text=True).stdout
        found = [[]]
        for line in map(json.loads, text.splitlines()):
            found[-1].append(line)
            if line["kind"] == "end":
                found.append([])
        return found[:-1]


def header(block):
    return block[0]


def boot_of(block):
    return header(block)["ctprof"]["boot_id"]


def opened(block):
    return next(line for line in block if line["kind"] == "window")["opened"]["monotonic_ns"]


def ended(block):
    return header(block)["ctprof"]["start"]["monotonic_ns"]


def seconds(block):
    return (ended(block) - opened(block)) / SECOND


def is_alive(state):
    return state.get("ActiveState") == "active" and state.get("SubState") == "running"


def comes_up(left):
    """It comes up with the host."""
    state = left.state("boot")
    if not is_alive(state) or state["UnitFileState"] != "enabled" or state["NRestarts"] != "0":
        yield f"it is {state}; {left.text('journal')}"


def is_sandboxed(left):
    """systemd-analyze security is below 3 while it runs."""
    last = re.search(r"Overall exposure level for ctprof.service: ([0-9.]+)", left.text("security"))
    if not last or float(last[1]) >= 3:
        yield f"it says {last and last[0]}"


def has_what_it_needs(left):
    """The process has a user of its own, six capabilities, and a filter of system calls."""
    for name in ("process", "process-later"):
        status = dict(line.split(":\t", 1) for line in left.text(name).splitlines() if ":\t" in line)
        bits = int(status.get("CapEff", "0"), 16)
        if bits != sum(1 << bit for bit in CAPABILITIES) or status["CapBnd"] != status["CapEff"]:
            yield f"its capabilities are {bits:x} of {status.get('CapBnd')}"
        if "0" in status["Uid"].split() or status["Seccomp"].strip() != "2" or status["NoNewPrivs"].strip() != "1":
            yield f"it is user {status['Uid']}, Seccomp {status['Seccomp']}, NoNewPrivs {status['NoNewPrivs']}"


def records(left):
    """A window a minute, each begun where the last one ended."""
    found = list(left.blocks())
    if len(found) < 2:
        yield f"there are {len(found)} windows"
    for number, block in enumerate(found):
        late = EVERY if number == 0 else SLACK  # The first ends while all else of an emulated host comes up.
        if not EVERY - SLACK < seconds(block) < EVERY + late:
            yield f"window {number + 1} is of {seconds(block):.1f} s"
    for before, after in zip(found, found[1:]):
        if ended(before) != opened(after):
            yield "two are not back to back"


def sees(left):
    """It sees what root sees: every metric by the same source, threads that end, and nothing that is denied."""
    block = list(left.blocks())[-1]
    ours, roots = fillers(block), fillers(left.read(left.directory / "root.ctprof.zst")[0])
    for name in sorted(ours.keys() | roots.keys()):
        if ours.get(name) != roots.get(name):
            yield f"{name} is filled by {ours.get(name)}, root's by {roots.get(name)}"
    if "task-iter" not in ours.values():
        yield "it reads nothing by BPF"
    window = next(line for line in block if line["kind"] == "window")
    if not window["sees_ends"] or not any(line["kind"] == "exited" for line in block):
        yield f"it sees no thread end: {window}"
    denied = header(block)["gap_names"].index("Denied")
    for table in block:
        for gaps in table.get("gaps", []) + table.get("base_gaps", []):
            if denied in gaps["runs"][::2]:  # a code, and how many rows, over and over
                yield f"{table.get('entity')}: denied are {gaps['columns']}"


def fillers(block):
    return {metric["name"]: metric.get("filled_by") for metric in header(block)["registry"]["metrics"]}


def is_for_administrators(left):
    """An administrator reads it, nobody else."""
    for name in ("show", "show-since"):
        status, text = left.said(name)
        if status != 0 or "threads" not in text:
            yield f"{name}: status {status}: {text}"
    status, text = left.said("show-other")
    if status != 2 or "Permission denied" not in text:
        yield f"another user: status {status}: {text}"


def fails_nothing(left):
    """No unit of the guest failed, and it says nothing that it should not."""
    if "0 loaded units listed" not in left.text("failed"):
        yield left.text("failed")
    for word in ("could not be kept", "error", "denied", "Permission"):
        if word in left.text("journal"):
            yield f"its journal says '{word}':\n{left.text('journal')}"


def keeps_what_was_open_at_shutdown(left):
    """What was open when the host was switched off is kept, and it comes up again."""
    if not is_alive(left.state("again")):
        yield f"it is {left.state('again')}"
    found = list(left.blocks())
    first = [block for block in found if boot_of(block) == boot_of(found[0])]
    if len(first) <= left.windows_at("shutdown"):
        yield f"at its end the first boot had {left.windows_at('shutdown')} windows, and of it are kept {[round(seconds(block), 1) for block in first]} s"


def survives_reloads(left):
    """daemon-reload leaves it alone; reload, which it has none of, is refused and does no harm."""
    before, after = left.state("before-reload"), left.state("reloaded")
    if not is_alive(after) or after["MainPID"] != before["MainPID"]:
        yield f"it was {before}, and is {after}"
    if left.said("daemon-reload")[0] != 0:
        yield left.said("daemon-reload")[1]
    if left.said("reload")[0] == 0 or "not applicable" not in left.said("reload")[1]:
        yield f"reload: {left.said('reload')}"


def restarts(left):
    """A restart brings its new settings, and keeps the window that was open."""
    before, after = left.state("before-restart"), left.state("restarted")
    if not is_alive(after) or after["MainPID"] == before["MainPID"] or left.said("reload-or-restart")[0] != 0:
        yield f"it was {before}, and is {after}: {left.said('reload-or-restart')}"
    if left.windows_at("restarted") <= left.windows_at("before-restart"):
        yield "the open window is lost"
    if "a window every 5 s; kept are 2 d" not in left.text("journal"):
        yield f"its settings are not those of the administrator:\n{left.text('journal')}"


def stops(left):
    """A stop keeps the window that was open, and is no failure."""
    stopped = left.state("stopped")
    if stopped["ActiveState"] != "inactive" or stopped["Result"] != "success":
        yield f"it is {stopped}"
    if left.windows_at("stopped") <= left.windows_at("before-stop"):
        yield "the open window is lost"


def comes_back(left):
    """Killed, it comes back by itself, and has lost no more than the window that was open."""
    before, after = left.state("before-kill"), left.state("after-kill")
    if not is_alive(after) or after["MainPID"] == before["MainPID"] or int(after["NRestarts"]) < 1:
        yield f"it was {before}, and is {after}"
    if left.windows_at("killed") < left.windows_at("before-kill"):
        yield "windows are gone"
    if left.windows_at("after-kill") < left.windows_at("killed") + 2:
        yield "it records nothing any more"
    status, text = left.said("show-2")
    if status != 0:
        yield f"show: status {status}: {text}"


def loses_nothing_else(left):
    """Between windows of one boot nothing is missing but what a restart takes."""
    found = list(left.blocks())
    gaps = [(opened(after) - ended(before)) / SECOND for before, after in zip(found, found[1:]) if boot_of(before) == boot_of(after)]
    # restart; stop and start; killed, with RestartSec and the open window; upgrade
    if any(gap < 0 for gap in gaps) or sum(gap > 0 for gap in gaps) > 4 or max(gaps) > 10 + SHORT + 2 * SLACK:
        yield f"between windows are {[round(gap, 2) for gap in gaps]} s"


def upgrades(left):
    """An upgrade restarts it."""
    if left.said("upgrade")[0] != 0 or not is_alive(left.state("upgraded")) or left.state("upgraded")["MainPID"] == left.state("after-kill")["MainPID"]:
        yield f"it was {left.state('after-kill')} and is {left.state('upgraded')}: {left.said('upgrade')}"


def goes(left):
    """Its package's removal stops it and keeps what it recorded; a purge leaves nothing."""
    if left.said("remove")[0] != 0 or left.state("removed").get("ActiveState") == "active" or left.text("left-running"):
        yield f"removed, it is {left.state('removed')}: {left.text('left-running')} {left.said('remove')}"
    if "ctprof" not in left.text("files-removed"):
        yield "what it recorded is gone with the package"
    if left.said("purge")[0] != 0 or left.text("left"):
        yield f"purged, there are:\n{left.text('left')}{left.said('purge')}"


SHIPPED = (comes_up, is_sandboxed, has_what_it_needs, records, sees, is_for_administrators, fails_nothing)
HANDLED = (keeps_what_was_open_at_shutdown, survives_reloads, restarts, stops, comes_back, loses_nothing_else, upgrades, goes)
