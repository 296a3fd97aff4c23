#!/usr/bin/python3
"""Checks that rustc rejects each source file in rust/ with the message that it names, and compiles it with --cfg control.

    must_not_compile_rust_test.py CRATE_DIR

The control is the same file with a legal declaration. Without rustc, the test is skipped.
"""
import pathlib
import re
import sys
import tempfile

import cases

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "contract"))
import rust_compiler  # noqa: E402


def find_failures(library, source, directory):
    """Yields the differences from the expected results of compiling `source`."""
    finished = rust_compiler.compile_plugin(source, library, directory / "control.so", "--cfg", "control")
    if finished.returncode != 0 or finished.stderr:
        yield f"the control does not compile without a message:\n{finished.stderr}"
    finished = rust_compiler.compile_plugin(source, library, directory / "case.so")
    message = cases.expected_message(source)
    # Compilers since 1.79 may print the path of a type where older ones print its name.
    printed = re.sub(r"\b(?:\w+::)+(\w+)", r"\1", finished.stderr)
    if finished.returncode == 0:
        yield "it compiles, but must not"
    elif message not in printed:
        yield f"the message '{message}' is missing in:\n{finished.stderr}"


def main():
    if not rust_compiler.RUSTC:
        print("SKIP: rustc is not installed")
        return cases.SKIPPED
    sources = sorted(pathlib.Path(__file__).parent.glob("rust/*.rs"))
    with tempfile.TemporaryDirectory() as name:
        directory = pathlib.Path(name)
        library = rust_compiler.compile_crate(pathlib.Path(sys.argv[1]), directory)
        return cases.check(sources, lambda source: find_failures(library, source, directory))


if __name__ == "__main__":
    sys.exit(main())
