"""Checks of the service by the files that a guest wrote (guest/steps.sh). Each check yields sentences about problems.

Contents: the checks, in the order of the two boots.
See also: creating and booting the guest (soak_unit.py).
"""

import json
import re
import subprocess

CAPABILITIES = {12: "net_admin", 2: "dac_read_search", 19: "sys_ptrace", 34: "syslog", 38: "perfmon", 39: "bpf"}
EVERY = 60  # seconds, in the packaged unit
SHORT = 5  # seconds, as the administrator sets it
# Tolerance in seconds: the CPUs of a guest are emulated, and the host may stop them at any time.
SLACK = 10
SECOND = 1_000_000_000


class GuestOutput:
    """The files that a guest wrote to /out."""

    def __init__(self, directory):
        self.directory = directory

    def text(self, name):
        path = self.directory / name
        return path.read_text(errors="replace") if path.exists() else ""

    def state(self, name):
        return dict(line.split("=", 1) for line in self.text(f"state-{name}").splitlines() if "=" in line)

    def windows_at(self, name):
        return int(self.state(name)["Windows"])

    def command_result(self, name):
        """Returns (exit status, output) of a command."""
        words = self.text(f"result-{name}").rsplit("status ", 1)
        return int(words[1]), words[0]

    def blocks(self):
        """Yields the lines of every recorded window."""
        for path in sorted((self.directory / "log").glob("*.ctprof.zst")):
            yield from self.read(path)

    @staticmethod
    def read(path):
        """Returns the windows of a file."""
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


def opening_time(block):
    return next(line for line in block if line["kind"] == "window")["opened"]["monotonic_ns"]


def end_time(block):
    return header(block)["ctprof"]["start"]["monotonic_ns"]


def seconds(block):
    return (end_time(block) - opening_time(block)) / SECOND


def is_alive(state):
    return state.get("ActiveState") == "active" and state.get("SubState") == "running"


def starts_at_boot(output):
    """The service starts at boot."""
    state = output.state("boot")
    if not is_alive(state) or state["UnitFileState"] != "enabled" or state["NRestarts"] != "0":
        yield f"it is {state}; {output.text('journal')}"


def is_sandboxed(output):
    """systemd-analyze rates the exposure of the running service below 3."""
    last = re.search(r"Overall exposure level for ctprof.service: ([0-9.]+)", output.text("security"))
    if not last or float(last[1]) >= 3:
        yield f"it reports {last and last[0]}"


def has_required_privileges(output):
    """The process has its own user, six capabilities, and a system call filter."""
    for name in ("process", "process-later"):
        status = dict(line.split(":\t", 1) for line in output.text(name).splitlines() if ":\t" in line)
        bits = int(status.get("CapEff", "0"), 16)
        if bits != sum(1 << bit for bit in CAPABILITIES) or status["CapBnd"] != status["CapEff"]:
            yield f"its capabilities are {bits:x} of {status.get('CapBnd')}"
        if "0" in status["Uid"].split() or status["Seccomp"].strip() != "2" or status["NoNewPrivs"].strip() != "1":
            yield f"it is user {status['Uid']}, Seccomp {status['Seccomp']}, NoNewPrivs {status['NoNewPrivs']}"


def records_every_minute(output):
    """The service records consecutive windows of one minute."""
    found = list(output.blocks())
    if len(found) < 2:
        yield f"there are {len(found)} windows"
    for number, block in enumerate(found):
        late = EVERY if number == 0 else SLACK  # The first window is delayed by the boot of the emulated host.
        if not EVERY - SLACK < seconds(block) < EVERY + late:
            yield f"window {number + 1} is of {seconds(block):.1f} s"
    for before, after in zip(found, found[1:]):
        if end_time(before) != opening_time(after):
            yield "two windows are not consecutive"


def reads_the_same_as_root(output):
    """The service reads the same data as root: every metric from the same source, exited threads, and no denied cells."""
    block = list(output.blocks())[-1]
    ours, roots = fillers(block), fillers(output.read(output.directory / "root.ctprof.zst")[0])
    for name in sorted(ours.keys() | roots.keys()):
        if ours.get(name) != roots.get(name):
            yield f"{name} is filled by {ours.get(name)}, and for root by {roots.get(name)}"
    if "task-iter" not in ours.values():
        yield "it reads nothing through BPF"
    window = next(line for line in block if line["kind"] == "window")
    if not window["sees_ends"] or not any(line["kind"] == "exited" for line in block):
        yield f"it reports no exited threads: {window}"
    denied = header(block)["gap_names"].index("Denied")
    for table in block:
        for gaps in table.get("gaps", []) + table.get("base_gaps", []):
            if denied in gaps["runs"][::2]:  # pairs of a gap code and a number of rows
                yield f"{table.get('entity')}: columns {gaps['columns']} are denied"


def fillers(block):
    return {metric["name"]: metric.get("filled_by") for metric in header(block)["registry"]["metrics"]}


def is_readable_only_by_administrators(output):
    """Only administrators can read the recordings."""
    for name in ("show", "show-since"):
        status, text = output.command_result(name)
        if status != 0 or "threads" not in text:
            yield f"{name}: status {status}: {text}"
    status, text = output.command_result("show-other")
    if status != 2 or "Permission denied" not in text:
        yield f"another user: status {status}: {text}"


def has_no_failures(output):
    """No unit of the guest failed, and the journal contains no errors."""
    if "0 loaded units listed" not in output.text("failed"):
        yield output.text("failed")
    for word in ("could not be kept", "error", "denied", "Permission"):
        if word in output.text("journal"):
            yield f"its journal says '{word}':\n{output.text('journal')}"


def keeps_the_window_open_at_shutdown(output):
    """The window that was open at shutdown is kept, and the service starts again."""
    if not is_alive(output.state("again")):
        yield f"it is {output.state('again')}"
    found = list(output.blocks())
    first = [block for block in found if boot_of(block) == boot_of(found[0])]
    if len(first) <= output.windows_at("shutdown"):
        lengths = [round(seconds(block), 1) for block in first]
        yield f"the first boot ended with {output.windows_at('shutdown')} windows, but the kept windows have lengths of {lengths} s"


def survives_reloads(output):
    """daemon-reload does not affect the service. reload, which it does not support, is refused and has no effect."""
    before, after = output.state("before-reload"), output.state("reloaded")
    if not is_alive(after) or after["MainPID"] != before["MainPID"]:
        yield f"it was {before}, and is {after}"
    if output.command_result("daemon-reload")[0] != 0:
        yield output.command_result("daemon-reload")[1]
    if output.command_result("reload")[0] == 0 or "not applicable" not in output.command_result("reload")[1]:
        yield f"reload: {output.command_result('reload')}"


def restarts_with_new_settings(output):
    """A restart applies new settings and keeps the open window."""
    before, after = output.state("before-restart"), output.state("restarted")
    if not is_alive(after) or after["MainPID"] == before["MainPID"] or output.command_result("reload-or-restart")[0] != 0:
        yield f"it was {before}, and is {after}: {output.command_result('reload-or-restart')}"
    if output.windows_at("restarted") <= output.windows_at("before-restart"):
        yield "the open window is lost"
    if "a window every 5 s; keeps 2 d" not in output.text("journal"):
        yield f"its settings are not those of the administrator:\n{output.text('journal')}"


def stops_without_failure(output):
    """A stop keeps the open window and is not a failure."""
    stopped = output.state("stopped")
    if stopped["ActiveState"] != "inactive" or stopped["Result"] != "success":
        yield f"it is {stopped}"
    if output.windows_at("stopped") <= output.windows_at("before-stop"):
        yield "the open window is lost"


def restarts_after_sigkill(output):
    """After SIGKILL the service restarts and has lost at most the open window."""
    before, after = output.state("before-kill"), output.state("after-kill")
    if not is_alive(after) or after["MainPID"] == before["MainPID"] or int(after["NRestarts"]) < 1:
        yield f"it was {before}, and is {after}"
    if output.windows_at("killed") < output.windows_at("before-kill"):
        yield "windows are lost"
    if output.windows_at("after-kill") < output.windows_at("killed") + 2:
        yield "it no longer records"
    status, text = output.command_result("show-2")
    if status != 0:
        yield f"show: status {status}: {text}"


def has_no_other_gaps(output):
    """Within a boot, only restarts cause gaps between windows."""
    found = list(output.blocks())
    gaps = [(opening_time(after) - end_time(before)) / SECOND for before, after in zip(found, found[1:]) if boot_of(before) == boot_of(after)]
    # restart; stop and start; killed, with RestartSec and the open window; upgrade
    if any(gap < 0 for gap in gaps) or sum(gap > 0 for gap in gaps) > 4 or max(gaps) > 10 + SHORT + 2 * SLACK:
        yield f"the gaps between windows are {[round(gap, 2) for gap in gaps]} s"


def restarts_on_upgrade(output):
    """An upgrade restarts the service."""
    before, after = output.state("after-kill"), output.state("upgraded")
    if output.command_result("upgrade")[0] != 0 or not is_alive(after) or after["MainPID"] == before["MainPID"]:
        yield f"it was {before} and is {after}: {output.command_result('upgrade')}"


def is_removed_with_its_package(output):
    """Removing the package stops the service and keeps the recordings; purging it leaves no files."""
    if output.command_result("remove")[0] != 0 or output.state("removed").get("ActiveState") == "active" or output.text("left-running"):
        yield f"removed, it is {output.state('removed')}: {output.text('left-running')} {output.command_result('remove')}"
    if "ctprof" not in output.text("files-removed"):
        yield "removing the package deleted the recordings"
    if output.command_result("purge")[0] != 0 or output.text("left"):
        yield f"after the purge there are:\n{output.text('left')}{output.command_result('purge')}"


CHECKS_OF_FIRST_BOOT = (starts_at_boot, is_sandboxed, has_required_privileges, records_every_minute, reads_the_same_as_root,
                        is_readable_only_by_administrators, has_no_failures)
CHECKS_OF_SECOND_BOOT = (keeps_the_window_open_at_shutdown, survives_reloads, restarts_with_new_settings, stops_without_failure,
                         restarts_after_sigkill, has_no_other_gaps, restarts_on_upgrade, is_removed_with_its_package)
