"""Common parts of the tests of tables: the packages that read them (None if missing), and a directory for each test."""

import importlib
import os
import sys
import unittest

import constructed_files  # adds the path of the next one
import harness


def package(name):
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


duckdb, pandas, chdb = package("duckdb"), package("pandas"), package("chdb")
needs_duckdb, needs_pandas, needs_chdb = (unittest.skipUnless(found, f"needs {name}, a Python package")
                                          for name, found in (("duckdb", duckdb), ("pandas", pandas), ("chdb", chdb)))


class Case(unittest.TestCase):
    longMessage = True
    maxDiff = 2000

    def setUp(self):
        scratch = harness.scratch()
        self.addCleanup(scratch.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(scratch.name)


def main_with_duckdb():
    if not duckdb:
        print("skipped: no duckdb (tools/dev fetches it)", file=sys.stderr)
        sys.exit(77)
    unittest.main(argv=[sys.argv[0], "-v", *sys.argv[1:]])
