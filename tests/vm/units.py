"""The unit tests, for a machine that cannot run them where they are built. The files that they read have the same paths in the guest.

In scope:       the programs, and the files that they read.
Out of scope:   running them (guest/units.sh), checking the results (checks_units.py).
"""

import json
import os
import shutil
import subprocess

from image import HERE

SOURCE = os.path.realpath(os.path.join(HERE, "..", ".."))
READ_BY_TESTS = ("tests/fixtures/taskstats", "tests/unit", "plugins/vocabulary")
PLACE = "/suite/units"
FIXTURES = "/suite/fixtures"  # recorded trees, unpacked by the build
FILTER = "/suite/units_filter"  # file with the filter for Boost.Test
# Boost.Test suites that take minutes under emulation, or more memory than the guest has.
EXCLUDED_SUITES = ("file_bad_test", "file_columns_bad_test", "file_property_test", "file_rows_test")


def programs(build):
    """Returns a map name -> program, from a configured build tree."""
    output = subprocess.run(["meson", "introspect", "--tests", build], capture_output=True, check=True).stdout
    return {test["name"]: test["cmd"][0] for test in json.loads(output) if test["name"].startswith("unit-")}


def build_targets(build):
    return [os.path.relpath(program, build) for program in programs(build).values()]


def add(image, build):
    image.write(FILTER, ":".join("!" + suite for suite in EXCLUDED_SUITES))
    for name, program in programs(build).items():
        image.add_program(f"{PLACE}/{name}", program)
    shutil.copytree(os.path.join(build, "tests", "fixtures", "trees"), image.place(FIXTURES), symlinks=True)
    for directory in READ_BY_TESTS:
        shutil.copytree(os.path.join(SOURCE, directory), image.place(os.path.join(SOURCE, directory)), symlinks=True)
