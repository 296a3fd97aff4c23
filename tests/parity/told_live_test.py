#!/usr/bin/python3
"""What is told to programs of this host: JSON is what its schema says, and CSV says what JSON says, of captures and windows made now."""

import harness
import told_test


class Told(told_test.Told):
    @classmethod
    def make_files(cls):
        """This host, with hostile names."""
        with harness.Helper("SLEEPERS", cwd=cls.directory):
            harness.capture(cls.path("named"))
            harness.capture(cls.path("later"))
            done = harness.run("record", "-d", "1s", "-o", cls.path("window"), "--", "sh", "-c", "for i in 1 2 3; do sleep 0.1; done; sleep 1")
            done = done if done.returncode else harness.run("record", "--repeat", "3", "-d", "300ms", "-o", cls.runs())
            if done.returncode != 0:
                raise AssertionError(done.stderr)


if __name__ == "__main__":
    harness.main()
