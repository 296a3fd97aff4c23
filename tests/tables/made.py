"""Files in columns that no capture makes: lines of one that it made, changed."""

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
    """The lines as a file: each a frame, and an end that counts them."""
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
    """Threads, and keys of a map of a cgroup, that are called so."""
    lines = capture(path)
    table = tables(lines, "thread")[0]
    table["raw"] = {}
    for row in range(len(table["columns"]["tid"])):
        table["columns"]["comm"][row] = names[row % len(names)]
    maps = tables(lines, "cgroup")[0]["columns"]["cgroup.memory.stat"]
    maps[0] = [[name[:200] or "empty", 7 + i] for i, name in enumerate(dict.fromkeys(names))]
    write(path, lines)
