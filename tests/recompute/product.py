"""Runs ctprof, and edits captures to create conditions that are difficult to record.

The build passes CTPROF.
"""

import csv
import io
import json
import os
import subprocess
import tempfile

CTPROF = os.environ.get("CTPROF", "ctprof")
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith("CTPROF_")} | {
    "CTPROF_PAGER": "", "LC_ALL": "C.UTF-8", "TZ": "UTC", "XDG_CONFIG_HOME": os.devnull, "XDG_STATE_HOME": os.devnull}


class CommandFailed(Exception):
    pass


def run(*words, statuses=(0,)):
    finished = subprocess.run([CTPROF, *map(str, words)], capture_output=True, check=False, env=ENVIRONMENT, text=True, errors="surrogateescape")
    if finished.returncode not in statuses:
        raise CommandFailed(f"ctprof {' '.join(map(str, words))}: status {finished.returncode}: {finished.stderr}")
    return finished.stdout


def status(*words):
    return subprocess.run([CTPROF, *map(str, words)], capture_output=True, check=False, env=ENVIRONMENT).returncode


def run_json(*words):
    return json.loads(run(*words, "--format", "json", "--limit", "0"))


def run_csv(*words):
    text = run(*words, "--details", "--format", "csv", "--limit", "0")
    return list(csv.DictReader(io.StringIO(text, newline=""), strict=True))


# ---- editing captures ----------------------------------------------------------------------------------------------------------

def read_lines(path):
    text = subprocess.run(["zstd", "-dcq", "--", path], check=True, capture_output=True).stdout
    return [json.loads(line) for line in text.splitlines()]


def frames_to_text(lines):
    """Returns the text of one capture, whose last line contains the number of lines and bytes before it."""
    body = "".join(json.dumps(line, separators=(",", ":"), ensure_ascii=False) + "\n" for line in lines[:-1]).encode()
    return body + json.dumps(dict(lines[-1], lines=len(lines), bytes=len(body)), separators=(",", ":")).encode() + b"\n"


def write_frames(text, path):
    """Writes each line as a zstd frame of its own, which contains its size."""
    with tempfile.TemporaryDirectory(prefix="frames-") as directory, open(path, "wb") as out:
        names = []
        for line in text.splitlines(keepends=True):
            names.append(os.path.join(directory, str(len(names))))
            with open(names[-1], "wb") as part:
                part.write(line)
        subprocess.run(["zstd", "-qc", "--check", *names], stdout=out, check=True)


def edit(path, into, change):
    """Writes a copy of a capture; `change` edits its lines."""
    lines = read_lines(path)
    write_frames(frames_to_text(change(lines) or lines), into)


def rename(names, column="pcomm"):
    """Returns a change that renames processes, so that a group is missing in a run or has another name."""
    def change(lines):
        for line in lines:
            for name in (column, f"process.{column}"):
                if name in line.get("columns", {}):
                    line["columns"][name] = [names.get(cell, cell) for cell in line["columns"][name]]
    return change


def on_another_boot(lines):
    """A change: moves the capture to another boot of another host."""
    lines[0]["ctprof"] |= {"boot_id": "00000000-0000-4000-8000-000000000000", "hostname": "other"}


def add_derived(name, expression, unit, family, entity="thread"):
    """Returns a change that adds a derived metric to the registry of the file."""
    def change(lines):
        lines[0]["registry"]["derived"].append(
            {"name": name, "entity": entity, "expression": expression, "unit": unit, "family": family, "section": "derived", "applies_to": "all",
             "description": "A metric of a test.", "plugin": "test"})
    return change
