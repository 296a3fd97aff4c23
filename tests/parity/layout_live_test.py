#!/usr/bin/python3
"""Checks that the layout checker accepts captures of this host and files exported from a window."""

import json
import os

import file_json
import harness
import layout_test


class Layout(layout_test.Case):
    def test_live_host(self):
        harness.capture(self.path)
        self.assert_valid(self.path)

    def test_live_host_without_privileges(self):
        if not harness.can_become_user():
            self.skipTest("needs root, to become an unprivileged user")
        harness.capture(self.path, prefix=harness.USER)
        self.assert_valid(self.path)

    def test_export_of_columns(self):
        for words in (), ("--metrics", "run_time_ns"):
            self.export_columns(*words)
            self.assert_valid(self.path)

    def test_export_of_a_window(self):
        """The file shows the host at the end of the window, without the threads that exited before."""
        window = self.path.replace("layout", "window")
        finished = harness.run("record", "-o", window, "--", "sh", "-c", "sleep 0.3 & sleep 0.1; wait")
        self.assertEqual(finished.returncode, 0, finished.stderr)
        window_json = json.loads(harness.run("show", window, "--format", "json", "--limit", "1").stdout)["snapshot"]["window"]
        finished = harness.run("export", window, "--to", "ktstr", "-o", self.path)
        self.assertEqual(finished.returncode, 0, finished.stderr)
        self.assertIn(f"without the {window_json['ended']:,} thread", finished.stderr)
        self.assert_valid(self.path)
        self.assertEqual(len(file_json.load(self.path).threads), window_json["threads_after"])

    def test_one_process(self):
        harness.capture(self.path, "-p", str(os.getpid()))
        self.assert_valid(self.path)
        self.assertEqual({row["tgid"] for row in file_json.load(self.path).threads.values()}, {os.getpid()})


if __name__ == "__main__":
    harness.main()
