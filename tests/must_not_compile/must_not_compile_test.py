#!/usr/bin/python3
"""Each source here must stop the compiler with the sentence that it names, and compile with -DCONTROL.

    must_not_compile_test.py COMPILER INCLUDE_DIR

The control is the same file with a pairing that has a meaning: so it is the pairing that the compiler refuses, and nothing else.
"""
import pathlib
import re
import shutil
import subprocess
import sys

FLAGS = ["-std=c++20", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only"]
SKIPPED = 77


def compiled(compiler, include, source, *more):
    command = [compiler, *FLAGS, *more, "-I", include, str(source)]
    done = subprocess.run(command, capture_output=True, text=True, env={"PATH": "/usr/bin:/bin", "LC_ALL": "C"})
    return done.returncode == 0, done.stderr


def errors_of(compiler, include, source):
    """What is wrong with how the compiler took `source`."""
    fine, said = compiled(compiler, include, source, "-DCONTROL")
    if not fine:
        yield f"the control does not compile:\n{said}"
    fine, said = compiled(compiler, include, source)
    sentence = re.search(r"^// must say: (.*)$", source.read_text(), re.M).group(1)
    if fine:
        yield "it compiles, and must not"
    elif sentence not in said:
        yield f"the compiler does not say '{sentence}', but:\n{said}"
    elif len(re.findall(r"\berror:", said)) != 1:
        yield f"the sentence is not the only error:\n{said}"


def main():
    compiler, include = sys.argv[1:]
    if not shutil.which(compiler, path="/usr/bin:/bin"):
        print(f"SKIP: {compiler} is not installed")
        return SKIPPED
    sources = sorted(pathlib.Path(__file__).parent.glob("*.cc"))
    failures = 0
    for source in sources:
        wrong = list(errors_of(compiler, include, source))
        failures += bool(wrong)
        print("not ok" if wrong else "ok", source.stem, *wrong)
    print(f"{len(sources)} sources, {failures} failures")
    return 1 if failures or not sources else 0


if __name__ == "__main__":
    sys.exit(main())
