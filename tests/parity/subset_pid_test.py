#!/usr/bin/python3
"""Checks captures with a /proc that shows only processes (mount option subset=pid): values that cannot be determined are unknown."""

import contextlib
import os
import unittest

import file_json
import harness
from file_json import Gap

# Shell code that mounts that /proc and runs the command.
MOUNT = 'mount -t proc -o subset=pid proc /proc && exec "$@"'
DELAYS, STATISTICS = "/proc/sys/kernel/task_delayacct", "/proc/sys/kernel/sched_schedstats"


class SubsetPid(unittest.TestCase):
    def setUp(self):
        harness.needs_namespaces(self, ["--mount"])
        if harness.run("--version", prefix=["unshare", "--mount", "sh", "-c", MOUNT, "sh"]).returncode != 0:
            self.skipTest("needs Linux 5.8, which brought subset=pid")

    def reasons(self, plugins, switch, value):
        """Returns the gaps and the reasons of the metrics that depend on the switch, with the switch set to `value`."""
        sysctl_change = harness.Switch(switch, value) if os.path.exists(switch) else contextlib.nullcontext()
        with harness.scratch() as directory, sysctl_change:
            path = os.path.join(directory, "a.ctprof.zst")
            harness.capture(path, before=[f"--plugins={plugins}"], prefix=["unshare", "--mount", "sh", "-c", MOUNT, "sh"])
            return file_json.load(path)

    def check(self, plugins, switch, metric):
        file = self.reasons(plugins, switch, "0")
        why = next(each for each in file.document["registry"]["metrics"] if each["name"] == metric)
        self.assertEqual({row[metric] for row in file.threads.values()}, {Gap("Unsupported")})
        self.assertIn("is enabled is unknown", why["reason"])
        self.assertIn("subset=pid", why["reason"])

    def test_delays_by_the_iterator(self):
        self.check("task-iter", DELAYS, "blkio_delay_count")

    def test_delays_by_netlink(self):
        self.check("taskstats", DELAYS, "blkio_delay_count")

    def test_statistics_by_the_iterator(self):
        if not os.path.exists(STATISTICS):
            self.skipTest("needs a kernel with CONFIG_SCHEDSTATS: on other kernels the iterator needs no switch")
        self.check("task-iter", STATISTICS, "nr_wakeups")

    def test_statistics_by_the_files(self):
        self.check("procfs-sched", STATISTICS, "nr_wakeups")

    def test_enabled_delays_are_read(self):
        """A thread that started after the switch was enabled has delays."""
        file = self.reasons("task-iter", DELAYS, "1")
        values = [row["blkio_delay_count"] for row in file.threads.values()]
        self.assertTrue(any(isinstance(value, int) for value in values))


if __name__ == "__main__":
    harness.main()
