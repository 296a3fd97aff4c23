#!/usr/bin/python3
"""File descriptors that run out while this host is captured: the number that is printed would do, and few make no file fail."""

import re

import file_json
from descriptors_test import FAILED, FILES, OF_SANITIZER, Case, captured, gaps, harness


class Limits(Case):
    def test_the_number_in_the_sentence_is_enough(self):
        for words in [(), (FILES,)]:
            enough = int(re.search(r"ulimit -n (\d+)", captured(self.path, 12, *words).stderr)[1])
            done = captured(self.path, enough + OF_SANITIZER, *words)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual([each for each in gaps(file_json.load(self.path)) if FAILED in each], [], enough)
            self.assertEqual(captured(self.path, enough - 1, *words).returncode, 2)

    def test_few_make_nothing_fail(self):
        """Directories that cannot be held open are not."""
        for limit in (64, 100, 200):
            done = captured(self.path, limit, FILES)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual([each for each in gaps(file_json.load(self.path)) if FAILED in each], [], limit)


if __name__ == "__main__":
    harness.main()
