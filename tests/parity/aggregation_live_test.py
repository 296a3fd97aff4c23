#!/usr/bin/python3
"""Checks `show` on a capture of this host: the value of each group must follow from the rows in the file."""

import harness
import aggregation_test


class LiveAggregation(aggregation_test.AggregationCase):
    def test_show_of_the_live_host(self):
        with harness.Helper("SLEEPERS", cwd=self.directory):  # threads with hostile names
            harness.capture(self.path("live"))
        for axis in aggregation_test.AXES:
            with self.subTest(axis=axis):
                self.assert_none(list(self.errors_in_show(self.path("live"), axis)))


if __name__ == "__main__":
    harness.main()
