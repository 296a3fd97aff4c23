#!/usr/bin/python3
"""Runs cases of the command line: a command, and what it says.

    run_cases.py FILE...    exit status 1 if a command said anything else, 77 if nothing could be run

A case file holds paragraphs like

    $ ctprof frobnicate
    ctprof: ...frobnicate...
    [2]

The command is one of sh. Below it stands what it says on standard output and standard error together, then its exit status in
brackets unless that is 0. `...` stands for any part of a line, and alone on a line for any lines. `# ...` is a comment, and blank lines at the end
do not count. `needs root`, `needs mounts` or `needs PROGRAM` skips what follows in the file where that is missing. All commands of a file
run in one empty directory; ctprof is on their PATH, $FIXTURES is the directory of recorded trees, `$MEASURE COMMAND...` runs a command and
then says how it ended and what memory it took, and `$SNAPSHOT FILE ROW...` writes a small snapshot made by hand (snapshot.py),
`$BOMB KIND FILE` one that asks for much (bombs.py), `$MOMENT FILE BOOT WHEN ROW...` a snapshot or a window in columns (moments.py), and
`$RUNS KIND DIR PAIRS` windows that were recorded once (runs.py). $SEEDS is the directory of the fuzzers' seeds, $SOURCE the top of the tree.
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
    """Root may mount in a namespace of its own; not in a chroot whose root is no mount, nor without the capability."""
    return subprocess.run(["unshare", "-m", "true"], stderr=subprocess.DEVNULL, check=False).returncode == 0


def needs_are_met(need):
    if need == "root":
        return os.geteuid() == 0
    return can_mount() if need == "mounts" else shutil.which(need) is not None


def parse(path):
    """Cases of a file in order; a string among them is a need that ends the file where it is not met."""
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


def line_pattern(line):
    return ".*".join(re.escape(part) for part in line.split("..."))


def pattern(lines):
    """The lines as one regular expression; blank lines at the end do not count."""
    while lines and not lines[-1]:
        lines = lines[:-1]
    return "".join("(?:.*\n)*?" if line == "..." else line_pattern(line) + "\n" for line in lines)


def run(case, directory, environment):
    done = subprocess.run(["sh", "-c", case.command], cwd=directory, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          stdin=subprocess.DEVNULL, timeout=TIMEOUT, check=False)
    said = harness.without_slowness(done.stdout.decode(errors="replace")).rstrip("\n")
    return done.returncode, said + "\n" if said else ""


def complaint(case, status, said):
    wrong = []
    if status != case.status:
        wrong.append(f"exit status {status}, not {case.status}")
    if not re.fullmatch(pattern(case.expected), said):
        wrong.append("it says something else")
    if not wrong:
        return None
    lines = "".join(f"    | {line}\n" for line in said.splitlines()[:40])
    return f"{case.place}: $ {case.command}\n  {', and '.join(wrong)}; it said:\n{lines}"


def environment_in(directory):
    """A PATH that has the ctprof under test, and nothing of the caller's that would change what it says."""
    product = os.path.join(directory, "product")
    os.mkdir(product)
    programs = os.path.dirname(product_copy(os.environ["CTPROF"], product))
    fixtures = os.path.realpath(os.environ["FIXTURES"])
    own = os.path.dirname(os.path.realpath(__file__))
    tools = {"MEASURE": os.path.join(own, "measure.py"), "SNAPSHOT": os.path.join(own, "snapshot.py"),
             "BOMB": os.path.join(own, "bombs.py"), "MOMENT": os.path.join(own, "moments.py"), "RUNS": os.path.join(own, "runs.py"),
             "SEEDS": os.path.join(own, "..", "fuzz", "seeds"), "SOURCE": os.path.join(own, "..", "..")}
    kept = {name: value for name, value in os.environ.items() if not name.startswith("CTPROF") and name not in ("NO_COLOR", "CLICOLOR_FORCE", "COLUMNS")}
    return kept | tools | {"PATH": programs + ":" + os.environ["PATH"], "FIXTURES": fixtures, "LC_ALL": "C.UTF-8",
                           "CTPROF_PAGER": "", "XDG_CONFIG_HOME": os.path.join(directory, "config"), "XDG_STATE_HOME": os.path.join(directory, "state")}


def run_file(path):
    """(cases run, complaints)"""
    ran, complaints = 0, []
    with tempfile.TemporaryDirectory(prefix="ctprof-cli-") as directory:
        os.chmod(directory, 0o755)
        environment = environment_in(directory)
        work = os.path.join(directory, "work")
        os.mkdir(work)
        for item in parse(path):
            if isinstance(item, str):
                if needs_are_met(item):
                    continue
                print(f"{os.path.basename(path)}: the rest is skipped, it needs {item}")
                break
            ran += 1
            wrong = complaint(item, *run(item, work, environment))
            if wrong:
                complaints.append(wrong)
    return ran, complaints


def main():
    total, failed = 0, 0
    for path in sys.argv[1:]:
        ran, complaints = run_file(path)
        total, failed = total + ran, failed + len(complaints)
        for wrong in complaints:
            print(wrong)
    print(f"{total} commands, {failed} failed")
    return 1 if failed else 0 if total else 77


if __name__ == "__main__":
    sys.exit(main())
