"""Where the files of a guest come from: this machine and its build, or a tree of packages of another architecture with a build made for it.

Either has `build`, a build tree with the tool and the test programs, `path(file)`, where a file of the guest is here, and
`libraries(program)`, what the dynamic linker there would load, by the guest's paths, itself included. `runs_here`: whether this machine
runs its programs.

What is here:   the two, and finding shared libraries.
What is not:    making the tree and its build (foreign.py).
"""

import os
import re
import subprocess


class Own:
    """This machine."""

    runs_here = True

    def __init__(self, build):
        self.build = build

    def path(self, file):
        return file

    def libraries(self, program):
        listed = subprocess.run(["ldd", program], capture_output=True, text=True, check=False).stdout
        words = (line.split() for line in listed.splitlines())
        return {next(word for word in line if word.startswith("/")) for line in words if any(word.startswith("/") for word in line)}


class Tree:
    """A tree at `root` whose libraries lie in `places`, for a machine that this one is not: its programs are read, not run."""

    runs_here = False

    def __init__(self, root, places, build):
        self.root = root
        self.places = places
        self.build = build

    def path(self, file):
        return self.root + file

    def wanted_by(self, program):
        told = subprocess.run(["readelf", "-ld", program], capture_output=True, text=True, check=True).stdout
        names = re.findall(r"\(NEEDED\).*\[(.+)\]", told)
        linker = re.findall(r"program interpreter: (/.+)\]", told)
        return set(linker) | {self.find(name) for name in names}

    def find(self, library):
        found = (f"{place}/{library}" for place in self.places if os.path.exists(self.path(f"{place}/{library}")))
        return next(found, None) or f"{self.places[0]}/{library}"  # which then is missed by name

    def libraries(self, program):
        found, left = set(), self.wanted_by(program)
        while left:
            found |= left
            left = set().union(*(self.wanted_by(self.path(library)) for library in left)) - found
        return found
