#!/usr/bin/python3
"""Writes a synthetic snapshot in the layout of the reference, in which a missing key means no value.

    snapshot.py FILE ROW...    `.ctprof.zst` is appended to FILE; a row consists of words like run_time_ns=5

A row is a thread; `times=3` makes three of them. By default pcomm equals comm, and tid and tgid count up. In texts %20 is a
blank. A row that begins with a path is a cgroup: '/a.slice cpu.weight=100'. A row that begins with `host` is at the top of the file:
'host psi.cpu.some.avg10=5'.
"""

import json
import subprocess
import sys
import urllib.parse

# Keys whose values are always texts.
TEXTS = {"pcomm", "comm", "cgroup", "policy", "state", "sched_ext.state"}


def value_of(name, text):
    return urllib.parse.unquote(text) if name in TEXTS else json.loads(text)


def fill(row, words):
    """Sets a value under nested keys for each word."""
    for word in words:
        name, _, text = word.partition("=")
        *keys, last = name.split(".")
        target = row
        for key in keys:
            target = target.setdefault(key, {})
        target[last] = value_of(name, text)
    return row


def threads(words, first):
    times = next((int(word[len("times="):]) for word in words if word.startswith("times=")), 1)
    for tid in range(first, first + times):
        row = fill({"tid": tid, "tgid": tid, "comm": "x"}, [word for word in words if not word.startswith("times=")])
        yield {"pcomm": row["comm"]} | row


def document(rows):
    made = {"captured_at_unix_ns": 1790000000000000000, "threads": [], "cgroup_stats": {}}
    for words in rows:
        if words[0].startswith("/"):
            fill(made["cgroup_stats"].setdefault(words[0], {}), words[1:])
        elif words[0] == "host":
            fill(made, words[1:])
        else:
            made["threads"] += threads(words, len(made["threads"]) + 1)
    return made


def main():
    text = json.dumps(document([row.split(" ") for row in sys.argv[2:]]))
    with open(sys.argv[1] + ".ctprof.zst", "wb") as file:
        subprocess.run(["zstd", "-q"], input=text.encode(), stdout=file, check=True)


if __name__ == "__main__":
    main()
