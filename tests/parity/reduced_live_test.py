#!/usr/bin/python3
"""What `show` makes of the groups of this host is what plain arithmetic makes of the rows in the file."""

import harness
import reduced_test


class Reduced(reduced_test.Judge):
    def test_show_of_the_live_host(self):
        with harness.Helper("SLEEPERS", cwd=self.directory):  # their names are hostile
            harness.capture(self.path("live"))
        for axis in reduced_test.AXES:
            with self.subTest(axis=axis):
                self.assert_none(list(self.wrong_in_show(self.path("live"), axis)))


if __name__ == "__main__":
    harness.main()
