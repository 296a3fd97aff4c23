#!/usr/bin/python3
"""The public headers: free of warnings, each by itself; with examples that compile; and as much prose as code needs.

    sdk_headers_test.py INCLUDE_DIR
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

INCLUDE = pathlib.Path(sys.argv[1]).resolve()
HEADERS = sorted(INCLUDE.rglob("*.h*"))
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Werror"]
LEAST_PROSE = 0.4  # of all lines: those that hold a comment and nothing else
PROSE = re.compile(r"\s*(//|/\*|\*)")
COMPILERS = {"c++": [name for name in ("g++", "clang++-14") if shutil.which(name)],
             "c": [name for name in ("gcc", "clang-14") if shutil.which(name)]}


def compiled(language, text, *options, compilers=None):
    """What each compiler says of a source, by its name; an empty text when it likes it."""
    said = {}
    with tempfile.TemporaryDirectory() as directory:
        source = pathlib.Path(directory) / ("source.cc" if language == "c++" else "source.c")
        source.write_text(text)
        for compiler in COMPILERS[language] if compilers is None else compilers:
            done = subprocess.run([compiler, *options, "-fsyntax-only", "-I", INCLUDE, source], capture_output=True, text=True)
            said[compiler] = done.stderr if done.returncode else ""
    return said


class Headers(unittest.TestCase):
    def assert_compiles(self, language, text, *options):
        for compiler, said in compiled(language, text, *options).items():
            with self.subTest(compiler=compiler):
                self.assertEqual(said, "")

    def test_each_compiles_alone_without_a_warning(self):
        """By one compiler, as what a header includes is the same for all; and all of them together by each, for its warnings."""
        for header in HEADERS:
            with self.subTest(header=header.name):
                said = compiled("c++", f'#include "{header}"\n', "-std=c++20", *WARNINGS, compilers=COMPILERS["c++"][:1])
                self.assertEqual(set(said.values()), {""})
        self.assert_compiles("c++", "".join(f'#include "{header}"\n' for header in HEADERS), "-std=c++20", *WARNINGS)

    def test_the_abi_is_plain_c(self):
        self.assert_compiles("c", '#include "ctprof/abi.h"\nint nothing;\n', "-std=c11", *WARNINGS)

    def test_an_older_standard_is_one_sentence(self):
        for compiler, said in compiled("c++", '#include "ctprof/plugin.hpp"\n', "-std=c++17").items():
            with self.subTest(compiler=compiler):
                self.assertIn("needs C++20", said)
                self.assertEqual(len(re.findall(r"\berror:", said)), 1, said)

    def test_the_whole_plugin_in_c_compiles(self):
        text = (INCLUDE / "ctprof/abi.h").read_text()
        example = text[text.index(" * A whole plugin"):text.index(" * How it may change")].split("\n", 1)[1]
        self.assert_compiles("c", '#include "ctprof/abi.h"\n' + re.sub(r"(?m)^ \*( {5})?", "", example), "-std=c11", "-Wall", "-Werror")

    def test_the_whole_plugin_in_cpp_compiles(self):
        text = (INCLUDE / "ctprof/plugin.hpp").read_text()
        example = text[text.index('//   #include "ctprof/plugin.hpp"'):text.index("#pragma once")]
        self.assert_compiles("c++", re.sub(r"(?m)^//( {3})?", "", example), "-std=c++20", *WARNINGS)

    def test_prose(self):
        lines = [line for header in HEADERS for line in header.read_text().splitlines()]
        prose = sum(bool(PROSE.match(line)) for line in lines)
        self.assertGreaterEqual(prose / len(lines), LEAST_PROSE, f"{prose} of {len(lines)} lines hold a comment and nothing else")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
