"""Writes files with columns that no capture contains, by changing the lines of a real capture."""

import json
import os
import subprocess
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "parity"))
import harness


def lines_of(path):
    text = subprocess.run(["zstd", "-dcq", path], capture_output=True, check=True).stdout
    return [json.loads(line) for line in text.splitlines()]


def write(path, lines):
    """Writes the lines as a file: each is a frame, and the last one counts them."""
    texts = [json.dumps(line, separators=(",", ":")).encode() + b"\n" for line in lines if line["kind"] != "end"]
    texts.append(b'{"kind":"end","lines":%d,"bytes":%d}\n' % (len(texts) + 1, sum(map(len, texts))))
    with open(path, "wb") as file:
        for text in texts:
            file.write(subprocess.run(["zstd", "-q", f"--stream-size={len(text)}"], input=text, capture_output=True, check=True).stdout)


def tables(lines, entity):
    return [line for line in lines if line["kind"] == "table" and line["entity"] == entity]


def capture(path, kernel="6.18"):
    harness.capture_tree(kernel, path, "--layout", "columns")
    return lines_of(path)


def hostile(path, names):
    """Writes a file in which threads, and keys of a map of a cgroup, have these names."""
    lines = capture(path)
    table = tables(lines, "thread")[0]
    table["raw"] = {}
    for row in range(len(table["columns"]["tid"])):
        table["columns"]["comm"][row] = names[row % len(names)]
    maps = tables(lines, "cgroup")[0]["columns"]["cgroup.memory.stat"]
    maps[0] = [[name[:200] or "empty", 7 + i] for i, name in enumerate(dict.fromkeys(names))]
    write(path, lines)
