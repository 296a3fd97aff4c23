"""The unit tests, for a machine that cannot run them where they are built: what they read lies in the guest under the same names.

What is here:   which they are, and what they read.
What is not:    running them (guest/units.sh), what is made of it (checks_units.py).
"""

import json
import os
import shutil
import subprocess

from image import HERE

SOURCE = os.path.realpath(os.path.join(HERE, "..", ".."))
READ_BY_TESTS = ("tests/fixtures/taskstats", "tests/unit", "plugins/vocabulary")
PLACE = "/suite/units"
FIXTURES = "/suite/fixtures"  # recorded trees, as the build unpacked them
FILTER = "/suite/units_filter"  # of Boost.Test
# Suites of Boost.Test: minutes each under emulation, or more memory than there is.
LEFT_OUT = ("file_bad_test", "file_columns_bad_test", "file_property_test", "file_rows_test")


def programs(build):
    """Name -> program, in a build tree that is configured."""
    told = subprocess.run(["meson", "introspect", "--tests", build], capture_output=True, check=True).stdout
    return {test["name"]: test["cmd"][0] for test in json.loads(told) if test["name"].startswith("unit-")}


def to_build(build):
    return [os.path.relpath(program, build) for program in programs(build).values()]


def add(image, build):
    image.write(FILTER, ":".join("!" + suite for suite in LEFT_OUT))
    for name, program in programs(build).items():
        image.add_program(f"{PLACE}/{name}", program)
    shutil.copytree(os.path.join(build, "tests", "fixtures", "trees"), image.place(FIXTURES), symlinks=True)
    for directory in READ_BY_TESTS:
        shutil.copytree(os.path.join(SOURCE, directory), image.place(os.path.join(SOURCE, directory)), symlinks=True)
