#!/usr/bin/python3
"""Runs command line tests: commands with their expected output.

    run_cases.py FILE...    exit status 1 if any output differs, 77 if no command could run

A case file contains paragraphs like

    $ ctprof frobnicate
    ctprof: ...frobnicate...
    [2]

sh runs the command. The lines below it are its standard output and standard error together, followed by its exit status in brackets unless that
is 0. `...` matches any part of a line, and any lines if a line contains nothing else. `# ...` is a comment, and blank lines at the end are ignored.
`needs root`, `needs mounts` or `needs PROGRAM` skips the rest of the file if the requirement is not met. All commands of a file run in one empty
directory with ctprof on their PATH. $FIXTURES is the directory of recorded trees. `$MEASURE COMMAND...` runs a command, and prints its status and
its use of memory. `$SNAPSHOT FILE ROW...` writes a small synthetic snapshot (snapshot.py), `$BOMB KIND FILE` a small file that causes much work
(bombs.py), `$SYNTHETIC FILE BOOT TIME ROW...` a columns file with a snapshot or a window (synthetic_captures.py), and `$RUNS KIND DIR PAIRS` recorded windows
(runs.py). $SEEDS is the directory of the fuzzers' seeds, $SOURCE the root of the source tree.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.append(os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "parity"))
import harness
from product_copy import product_copy

TIMEOUT = 600  # seconds


class Case:
    def __init__(self, place, command):
        self.place = place
        self.command = command
        self.expected = []
        self.status = 0


def can_mount():
    """Returns whether root can mount in a new namespace, which fails without the capability, and in a chroot that is not a mount point."""
    return subprocess.run(["unshare", "-m", "true"], stderr=subprocess.DEVNULL, check=False).returncode == 0


def is_requirement_met(need):
    if need == "root":
        return os.geteuid() == 0
    return can_mount() if need == "mounts" else shutil.which(need) is not None


def parse(path):
    """Yields the cases of a file in order, and its requirements as strings."""
    items = []
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            line = line.rstrip("\n")
            if line.startswith("$ "):
                items.append(Case(f"{os.path.basename(path)}:{number}", line[2:]))
            elif line.startswith("needs "):
                items.append(line[len("needs "):])
            elif line.startswith("# ") or not items or not isinstance(items[-1], Case):
                continue
            elif re.fullmatch(r"\[\d+\]", line):
                items[-1].status = int(line[1:-1])
            else:
                items[-1].expected.append(line)
    return items


def make_line_pattern(line):
    return ".*".join(re.escape(part) for part in line.split("..."))


def make_pattern(lines):
    """Converts the lines to one regular expression; blank lines at the end are ignored."""
    while lines and not lines[-1]:
        lines = lines[:-1]
    return "".join("(?:.*\n)*?" if line == "..." else make_line_pattern(line) + "\n" for line in lines)


def run(case, directory, environment):
    finished = subprocess.run(["sh", "-c", case.command], cwd=directory, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              stdin=subprocess.DEVNULL, timeout=TIMEOUT, check=False)
    actual_output = harness.remove_slowness(finished.stdout.decode(errors="replace")).rstrip("\n")
    return finished.returncode, actual_output + "\n" if actual_output else ""


def describe_failure(case, status, actual_output):
    wrong = []
    if status != case.status:
        wrong.append(f"exit status {status}, not {case.status}")
    if not re.fullmatch(make_pattern(case.expected), actual_output):
        wrong.append("the output differs")
    if not wrong:
        return None
    lines = "".join(f"    | {line}\n" for line in actual_output.splitlines()[:40])
    return f"{case.place}: $ {case.command}\n  {', and '.join(wrong)}; output:\n{lines}"


def make_environment(directory):
    """Returns an environment with the tested ctprof on the PATH, without variables that would change its output."""
    product = os.path.join(directory, "product")
    os.mkdir(product)
    programs = os.path.dirname(product_copy(os.environ["CTPROF"], product))
    fixtures = os.path.realpath(os.environ["FIXTURES"])
    own = os.path.dirname(os.path.realpath(__file__))
    tools = {"MEASURE": os.path.join(own, "measure.py"), "SNAPSHOT": os.path.join(own, "snapshot.py"),
             "BOMB": os.path.join(own, "bombs.py"), "SYNTHETIC": os.path.join(own, "synthetic_captures.py"), "RUNS": os.path.join(own, "runs.py"),
             "SEEDS": os.path.join(own, "..", "fuzz", "seeds"), "SOURCE": os.path.join(own, "..", "..")}
    kept = {name: value for name, value in os.environ.items() if not name.startswith("CTPROF") and name not in ("NO_COLOR", "CLICOLOR_FORCE", "COLUMNS")}
    return kept | tools | {"PATH": programs + ":" + os.environ["PATH"], "FIXTURES": fixtures, "LC_ALL": "C.UTF-8",
                           "CTPROF_PAGER": "", "XDG_CONFIG_HOME": os.path.join(directory, "config"), "XDG_STATE_HOME": os.path.join(directory, "state")}


def run_file(path):
    """Returns (number of cases, failures)."""
    commands_run, failures = 0, []
    with tempfile.TemporaryDirectory(prefix="ctprof-cli-") as directory:
        os.chmod(directory, 0o755)
        environment = make_environment(directory)
        work = os.path.join(directory, "work")
        os.mkdir(work)
        for item in parse(path):
            if isinstance(item, str):
                if is_requirement_met(item):
                    continue
                print(f"{os.path.basename(path)}: skipping the rest, which needs {item}")
                break
            commands_run += 1
            wrong = describe_failure(item, *run(item, work, environment))
            if wrong:
                failures.append(wrong)
    return commands_run, failures


def main():
    total, failed = 0, 0
    for path in sys.argv[1:]:
        commands_run, failures = run_file(path)
        total, failed = total + commands_run, failed + len(failures)
        for wrong in failures:
            print(wrong)
    print(f"{total} commands, {failed} failed")
    return 1 if failed else 0 if total else 77


if __name__ == "__main__":
    sys.exit(main())
