#!/usr/bin/python3
"""Captures this host with every single plugin, every pair, and all plugins: the identities of threads are complete, and no plugin warns about a
metric of another one."""

import harness
import subsets_test


class Subsets(subsets_test.Case):
    def test_subsets(self):
        with harness.Helper("SLEEPERS", cwd=self.directory) as sleepers:
            expected = harness.read_until_stable(lambda: self.identities(sleepers.pid), pid=sleepers.pid)
            self.check_all(expected, sleepers.pid)


if __name__ == "__main__":
    harness.main()
