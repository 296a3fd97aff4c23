#!/usr/bin/env python3
"""Expressions in SQL give the values that ctprof computes."""

import os
import sys
import unittest

sys.path.insert(0, os.environ["FLEET"])

from ctprof_fleet import metrics  # noqa: E402


class Expressions(unittest.TestCase):
    """Trees as `ctprof fleet parse` prints them."""

    def value(self, tree, **values):
        try:
            import duckdb
        except ImportError:
            self.skipTest("no duckdb for Python")
        names = {name: "NULL::DOUBLE" if value is None else f"{value}::DOUBLE" for name, value in values.items()}
        return duckdb.connect().execute("SELECT " + metrics.expression_sql(tree, names.get)).fetchone()[0]

    @staticmethod
    def metric(name, optional=False):
        return {"metric": name, "optional": optional}

    def test_arithmetic(self):
        a, b = self.metric("a"), self.metric("b")
        self.assertEqual(self.value({"op": "/", "of": [a, b]}, a=6, b=4), 1.5)
        self.assertEqual(self.value({"op": "-", "of": [{"op": "-", "of": [a]}, b]}, a=6, b=4), -10)
        self.assertEqual(self.value({"op": "-", "of": [a, {"op": "-", "of": [b, {"number": 1}]}]}, a=6, b=4), 3)
        self.assertEqual(self.value({"op": "max", "of": [a, b, {"number": -1}]}, a=-6, b=-4), -1)
        self.assertEqual(self.value({"op": "*", "of": [a, {"number": 0.5}]}, a=6), 3)

    def test_no_value(self):
        a, b = self.metric("a"), self.metric("b")
        self.assertIsNone(self.value({"op": "/", "of": [a, b]}, a=6, b=0))
        self.assertIsNone(self.value({"op": "/", "of": [a, b]}, a=None, b=4))
        self.assertIsNone(self.value({"op": "max", "of": [a, b]}, a=6, b=None))

    def test_optional_parts(self):
        tree = {"op": "+", "of": [self.metric("a", True), self.metric("b", True)]}
        self.assertEqual(self.value(tree, a=6, b=None), 6)
        self.assertIsNone(self.value(tree, a=None, b=None))
        self.assertEqual(self.value({"op": "+", "of": [self.metric("a"), self.metric("b", True)]}, a=6, b=None), 6)


if __name__ == "__main__":
    unittest.main()
