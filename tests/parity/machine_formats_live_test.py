#!/usr/bin/python3
"""Checks the output for programs on this host: JSON fits its schema, and CSV equals JSON, for new captures and windows."""

import harness
import machine_formats_test


class MachineFormats(machine_formats_test.MachineFormats):
    @classmethod
    def make_files(cls):
        """Captures this host with hostile names."""
        with harness.Helper("SLEEPERS", cwd=cls.directory):
            harness.capture(cls.path("named"))
            harness.capture(cls.path("later"))
            finished = harness.run("record", "-d", "1s", "-o", cls.path("window"), "--", "sh", "-c", "for i in 1 2 3; do sleep 0.1; done; sleep 1")
            finished = finished if finished.returncode else harness.run("record", "--repeat", "3", "-d", "300ms", "-o", cls.runs())
            if finished.returncode != 0:
                raise AssertionError(finished.stderr)


if __name__ == "__main__":
    harness.main()
