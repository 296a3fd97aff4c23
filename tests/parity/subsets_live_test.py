#!/usr/bin/python3
"""Every plugin alone, every pair, and all, on this host: who the threads are stays whole, and nobody warns of what is not theirs to fill."""

import harness
import subsets_test


class Subsets(subsets_test.Case):
    def test_subsets(self):
        with harness.Helper("SLEEPERS", cwd=self.directory) as sleepers:
            expected = harness.settled(lambda: self.identities(sleepers.pid), pid=sleepers.pid)
            self.check_all(expected, sleepers.pid)


if __name__ == "__main__":
    harness.main()
