#!/usr/bin/python3
"""Checks that each source file here is rejected with the message that it names, and compiles with -DCONTROL.

    must_not_compile_test.py COMPILER INCLUDE_DIR

The control is the same file with a legal declaration, which shows that the compiler rejects only the tested declaration.
"""
import pathlib
import re
import shutil
import subprocess
import sys

import cases

FLAGS = ["-std=c++20", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only"]


def run_compiler(compiler, include, source, *more):
    command = [compiler, *FLAGS, *more, "-I", include, str(source)]
    finished = subprocess.run(command, capture_output=True, text=True, env={"PATH": "/usr/bin:/bin", "LC_ALL": "C"})
    return finished.returncode == 0, finished.stderr


def find_failures(compiler, include, source):
    """Yields the differences from the expected results of compiling `source`."""
    succeeded, output = run_compiler(compiler, include, source, "-DCONTROL")
    if not succeeded:
        yield f"the control does not compile:\n{output}"
    succeeded, output = run_compiler(compiler, include, source)
    message = cases.expected_message(source)
    if succeeded:
        yield "it compiles, but must not"
    elif message not in output:
        yield f"the message '{message}' is missing in:\n{output}"
    elif len(re.findall(r"\berror:", output)) != 1:
        yield f"the message is not the only error:\n{output}"


def main():
    compiler, include = sys.argv[1:]
    if not shutil.which(compiler, path="/usr/bin:/bin"):
        print(f"SKIP: {compiler} is not installed")
        return cases.SKIPPED
    sources = sorted(pathlib.Path(__file__).parent.glob("*.cc"))
    return cases.check(sources, lambda source: find_failures(compiler, include, source))


if __name__ == "__main__":
    sys.exit(main())
