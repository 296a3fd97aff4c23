"""Where the files of a guest come from: this machine and its build, or a tree of packages of another architecture with a cross build.

Both classes have `build`, a build tree with the tool and the test programs; `path(file)`, the path on this machine of a file of the guest;
`libraries(program)`, the libraries that the dynamic linker loads there, as paths in the guest, including the linker; and `runs_here`, whether
this machine can run the programs.

In scope:       the two classes, and finding shared libraries.
Out of scope:   creating the tree and its build (cross_build.py).
"""

import os
import re
import subprocess


class HostSystem:
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


class PackageTree:
    """A tree at `root` with libraries in `library_directories`. This machine can read its programs, but not run them."""

    runs_here = False

    def __init__(self, root, library_directories, build):
        self.root = root
        self.library_directories = library_directories
        self.build = build

    def path(self, file):
        return self.root + file

    def needed_libraries(self, program):
        headers = subprocess.run(["readelf", "-ld", program], capture_output=True, text=True, check=True).stdout
        names = re.findall(r"\(NEEDED\).*\[(.+)\]", headers)
        linker = re.findall(r"program interpreter: (/.+)\]", headers)
        return set(linker) | {self.find(name) for name in names}

    def find(self, library):
        found = (f"{place}/{library}" for place in self.library_directories if os.path.exists(self.path(f"{place}/{library}")))
        return next(found, None) or f"{self.library_directories[0]}/{library}"  # reported later as missing, by its name

    def libraries(self, program):
        found, remaining = set(), self.needed_libraries(program)
        while remaining:
            found |= remaining
            remaining = set().union(*(self.needed_libraries(self.path(library)) for library in remaining)) - found
        return found
