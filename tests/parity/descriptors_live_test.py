#!/usr/bin/python3
"""Captures this host with few file descriptors: the limit that the error message suggests is sufficient, and under low limits no file fails."""

import re

import file_json
from descriptors_test import FAILED, FILES, SANITIZER_OPTIONS, Case, capture_with_limit, gaps, harness


class Limits(Case):
    def test_the_suggested_limit_is_sufficient(self):
        for words in [(), (FILES,)]:
            enough = int(re.search(r"ulimit -n (\d+)", capture_with_limit(self.path, 12, *words).stderr)[1])
            finished = capture_with_limit(self.path, enough + SANITIZER_OPTIONS, *words)
            self.assertEqual(finished.returncode, 0, finished.stderr)
            self.assertEqual([each for each in gaps(file_json.load(self.path)) if FAILED in each], [], enough)
            self.assertEqual(capture_with_limit(self.path, enough - 1, *words).returncode, 2)

    def test_low_limits_cause_no_failures(self):
        """Directories that cannot be kept open are opened again instead."""
        for limit in (64, 100, 200):
            finished = capture_with_limit(self.path, limit, FILES)
            self.assertEqual(finished.returncode, 0, finished.stderr)
            self.assertEqual([each for each in gaps(file_json.load(self.path)) if FAILED in each], [], limit)


if __name__ == "__main__":
    harness.main()
