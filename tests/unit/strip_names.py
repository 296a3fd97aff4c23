"""Makes of a program with debug information, as distributions do, those that have lost it: strip_names.py PROGRAM DIRECTORY.

  packed    .gnu_debugdata alone: a packed list of functions
  linked    a link to linked.debug, with its checksum
  found     nothing but its build id, by which debug/.build-id/ has the rest
"""

import lzma
import os
import shutil
import subprocess
import sys


def run(*words):
    return subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True).stdout


def build_id(program):
    return next(line.split()[-1] for line in run("readelf", "-n", program).splitlines() if "Build ID:" in line)


def pack(program, to):
    listed = to + ".list"
    run("objcopy", "--strip-debug", "--remove-section=.comment", program, listed)
    run("objcopy", "--only-keep-debug", listed)
    with open(listed, "rb") as small, open(to + ".xz", "wb") as packed:
        packed.write(lzma.compress(small.read()))
    run("objcopy", f"--add-section=.gnu_debugdata={to}.xz", to)


def main(program, directory):
    os.makedirs(directory, exist_ok=True)
    to = {name: os.path.join(directory, name) for name in ("packed", "linked", "linked.debug", "found")}
    for name in ("packed", "linked", "found"):
        run("strip", "--strip-all", "-o", to[name], program)
    pack(program, to["packed"])
    run("objcopy", "--only-keep-debug", program, to["linked.debug"])
    run("objcopy", f"--add-gnu-debuglink={to['linked.debug']}", to["linked"])
    number = build_id(program)
    place = os.path.join(directory, "debug", ".build-id", number[:2])
    os.makedirs(place, exist_ok=True)
    shutil.copy(to["linked.debug"], os.path.join(place, number[2:] + ".debug"))


if __name__ == "__main__":
    main(*sys.argv[1:])
