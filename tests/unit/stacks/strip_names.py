"""Makes of a program with debug information, as distributions do, those that have lost it: strip_names.py PROGRAM DIRECTORY.

  packed        .gnu_debugdata alone: a packed list of functions
  found         nothing but its build id, by which debug/.build-id/ has what was stripped, and whole/.build-id/ the program
  linked        a link to linked.debug, which has its build id
  dwzed         with what dwz found to be common with a copy of it moved out, to where debug/ has it; only where there is dwz
  unidentified  a link to unidentified.debug, with its checksum; neither has a build id
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


def link(program, to, *options):
    run("objcopy", "--only-keep-debug", *options, program, to + ".debug")
    run("objcopy", "--strip-all", *options, f"--add-gnu-debuglink={to}.debug", program, to)


def keep(file, number, directory, ending):
    place = os.path.join(directory, ".build-id", number[:2])
    os.makedirs(place, exist_ok=True)
    shutil.copy(file, os.path.join(place, number[2:] + ending))


def move_common(program, to, debug):
    twin, common = to + ".twin", to + ".common"
    for path in (to, twin):
        shutil.copy(program, path)
    run("objcopy", "--remove-section=.note.gnu.build-id", twin)
    run("dwz", "-m", common, "-M", os.path.abspath(common), to, twin)
    keep(common, build_id(common), debug, ".debug")


def main(program, directory):
    os.makedirs(directory, exist_ok=True)
    to = {name: os.path.join(directory, name) for name in ("packed", "found", "linked", "unidentified", "dwzed", "debug", "whole")}
    for name in ("packed", "found"):
        run("strip", "--strip-all", "-o", to[name], program)
    pack(program, to["packed"])
    link(program, to["linked"])
    link(program, to["unidentified"], "--remove-section=.note.gnu.build-id")
    number = build_id(program)
    keep(to["linked"] + ".debug", number, to["debug"], ".debug")
    keep(program, number, to["whole"], "")
    if shutil.which("dwz"):
        move_common(program, to["dwzed"], to["debug"])


if __name__ == "__main__":
    main(*sys.argv[1:])
