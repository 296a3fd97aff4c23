"""Threads that exit in a window: their number, processes and values."""

import glob
import os
import re
import statistics
import subprocess
import sys
import tempfile
import unittest

sys.path.append(os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "parity"))
import harness
import measurement
from exited_task import ExitedTask
from window_file import Window

CTPROF = os.environ.get("CTPROF", "ctprof")
ENDS, STORM, TAKEOVER = (os.environ.get(name, name.lower()) for name in ("ENDS", "STORM", "TAKEOVER"))
FILES = "--plugins=procfs-sched,taskstats,cgroup,host"
COUNT = 500
BATCH = 300
IO = ("rchar", "wchar", "syscr", "syscw", "read_bytes", "write_bytes")
US, MS = 1_000, 1_000_000
TICK_NS = 10 * MS  # with CONFIG_HZ=100, the longest tick
ROUNDED = 1024  # taskstats rounds bytes down to a multiple of this
STORM_THREADS, STORM_RATE = 200_000, 40_000
MORE_THAN_THE_TABLE_HOLDS = 60_000


def has_capability(number):
    with open("/proc/self/status", encoding="ascii") as file:
        return int(re.search(r"^CapEff:\s*(\w+)", file.read(), re.MULTILINE)[1], 16) >> number & 1


def records_exits_by_bpf():
    text = subprocess.run([CTPROF, "plugins"], capture_output=True, text=True, check=True).stdout
    return re.search(r"^task-iter.*\n.*\n +fills [1-9]", text, re.MULTILINE) is not None


def needs(condition, what):
    return unittest.skipUnless(condition, f"needs {what}")


by_bpf = needs(records_exits_by_bpf(), "BPF programs")
by_netlink = needs(has_capability(12) and glob.glob(os.path.join(os.path.dirname(CTPROF), "../../plugins/taskstats.so")),
                   "CAP_NET_ADMIN and the plugin taskstats")


class ExitCase(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory(prefix="ctprof-ends-")
        self.addCleanup(directory.cleanup)
        self.directory = directory.name

    def record(self, *command, options=()):
        """Records the command. Returns the window and the output of the command."""
        path = os.path.join(self.directory, "window")
        finished = subprocess.run([CTPROF, *options, "record", "-q", "-o", path, "--", *command], capture_output=True, text=True,
                                  timeout=300, check=False)
        self.assertEqual(finished.returncode, 0, finished.stderr)
        return Window(path), finished.stdout

    def record_exits(self, kind, options=(), count=COUNT):
        """Returns pairs of the values that a task read of itself and its row."""
        lines = os.path.join(self.directory, "lines")
        window, _ = self.record(ENDS, kind, str(count), lines, options=options)
        self.assertEqual(window.head["ended_lost"], 0)
        with open(lines, encoding="ascii") as file:
            return self.pairs(window, [ExitedTask(line) for line in file])

    def pairs(self, window, exited_tasks):
        rows, found = window.ended_by("tid"), []
        for one in exited_tasks:
            mine = [row for row in rows.get(one.tid, []) if row.value("comm") == os.path.basename(ENDS)[:15]]
            self.assertEqual(len(mine), 1, one.tid)
            found.append((one, mine[0]))
        return found

    def check_switches(self, differences):
        """99 of 100 differences are 0, the others at most 1. With a sanitizer threads take longer to exit after their last read."""
        self.assertLessEqual(max(map(abs, differences)), 1)
        self.assertGreaterEqual(differences.count(0), (0.95 if harness.is_sanitized() else 0.99) * len(differences))

    def check_faults(self, pairs):
        for one, row in pairs:
            self.assertEqual((row.value("minflt"), row.value("majflt")), (one.minflt, one.majflt))


@by_bpf
@measurement.run_twice_at_most
class ExitsFromBpf(ExitCase):
    def check(self, pairs):
        self.check_faults(pairs)
        for one, row in pairs:
            self.assertTrue(row.born)
            self.assertEqual([row.value(metric) for metric in IO], one.io)
        # A thread cannot read its last switch, which happens at its exit.
        self.check_switches([row.value("voluntary_csw") - one.voluntary - 1 for one, row in pairs])
        self.check_switches([row.value("nonvoluntary_csw") - one.nonvoluntary for one, row in pairs])

    def test_processes(self):
        pairs = self.record_exits("processes")
        self.check(pairs)
        apart = sorted(abs(row.value("run_time_ns") - one.waited_us * US) for one, row in pairs)
        self.assertLessEqual(apart[len(apart) * 95 // 100], 10 * US)
        self.assertLess(apart[-1], 10 * MS)  # a hypervisor may take the CPU between the two reads
        for one, row in pairs:
            self.assertEqual((row.value("minflt"), row.value("majflt")), (one.waited_minflt, one.waited_majflt))
        self.check_switches([row.value("voluntary_csw") - one.waited_voluntary for one, row in pairs])
        self.check_switches([row.value("nonvoluntary_csw") - one.waited_nonvoluntary for one, row in pairs])

    def test_threads(self):
        """After its last read a thread still has to exit, which takes about ten microseconds."""
        pairs = self.record_exits("threads")
        self.check(pairs)
        since = sorted(row.value("run_time_ns") - one.cpu_ns for one, row in pairs)
        self.assertGreaterEqual(since[0], 0)
        self.assertLess(since[len(since) * 95 // 100], MS)  # a few may be delayed longer by a hypervisor
        self.assertLess(statistics.median(since), 100 * US)

    def test_exec_by_another_thread_than_the_leader(self):
        window, pid = self.record("sh", "-c", f"{TAKEOVER}; true")
        rows = [row for row in window.ended if row.value("tgid") == int(pid)]
        spent = sorted(row.value("run_time_ns") for row in rows)
        self.assertEqual([row.value("tid") for row in rows], [int(pid)] * 2)  # the second one is the old leader
        self.assertLess(spent[0], 20 * MS)
        self.assertGreater(spent[1], 50 * MS)
        self.assertLess(spent[1], 100 * MS)

    @needs(os.geteuid() == 0, "root")
    def test_thread_of_removed_cgroup_keeps_its_path(self):
        with open("/proc/self/mounts", encoding="utf-8") as file:
            mount = next((line.split()[1] for line in file if line.split()[2] == "cgroup2"), None)
        if not mount:
            self.skipTest("no cgroup v2 hierarchy")
        cgroup = os.path.join(mount, f"ctprof-ends-{os.getpid()}")
        script = f"mkdir {cgroup}; sh -c 'echo $$ > {cgroup}/cgroup.procs; exec true'; rmdir {cgroup}"
        window, _ = self.record("sh", "-c", script)
        self.assertFalse(os.path.exists(cgroup))
        paths = [row.value("cgroup") for row in window.ended if row.value("comm") == "true"]
        self.assertTrue(any(path and path.endswith("/" + os.path.basename(cgroup)) for path in paths), paths)

    @unittest.skipIf(harness.is_sanitized(), "a sanitizer makes draining too slow for the pace of a storm")
    def test_a_storm_of_threads_loses_nothing(self):
        """The rate is that of an idle machine. A busy machine creates fewer threads per second, and loses none either."""
        window, output = self.record(STORM, str(STORM_THREADS), str(STORM_RATE))
        made, took_ms = map(int, output.split())
        print(f"{made} threads, {made / took_ms * 1000:.0f} a second")
        self.assertEqual(window.head["ended_lost"], 0)
        self.assertGreaterEqual(len(window.ended) + window.head["ended_merged"], made)
        self.assertLess(len(window.ended), STORM_THREADS)
        self.assertGreater(window.head["ended_merged"], 0)
        self.assertTrue(any("share rows" in note for note in window.notes), window.notes)
        # Merged rows include the time of their threads.
        spent = sum(row.value("run_time_ns") for row in window.ended if row.value("comm") == os.path.basename(STORM)[:15])
        self.assertGreater(spent, made * US)


@by_netlink
class ExitsFromNetlink(ExitCase):
    """The kernel reports a thread before its last switch: that switch and the work since the report are missing."""

    def check(self, pairs):
        self.check_faults(pairs)
        for one, row in pairs:
            self.assertTrue(row.born)
            for metric, read in zip(IO, one.io):
                value = row.value(metric)
                self.assertTrue(value is None if metric.startswith("sysc") else read - ROUNDED < value <= read, metric)
        self.check_switches([row.value("voluntary_csw") - one.voluntary for one, row in pairs])
        self.check_switches([row.value("nonvoluntary_csw") - one.nonvoluntary for one, row in pairs])
        for one, row in pairs:
            self.assertGreaterEqual(row.value("run_time_ns"), one.cpu_ns)

    def test_processes(self):
        pairs = self.record_exits("processes", options=[FILES])
        self.check(pairs)
        short = [one.waited_us * US - row.value("run_time_ns") for one, row in pairs]
        self.assertGreaterEqual(min(short), -10 * US)
        self.assertLess(max(short), 5 * MS)

    def test_threads(self):
        self.check(self.record_exits("threads", options=[FILES]))


class SumOfRows(ExitCase):
    """300 short children: the sum of the rows equals the time that wait4 reports."""

    SCRIPT = ("import os, resource\n"
              "before = resource.getrusage(resource.RUSAGE_CHILDREN)\n"
              f"for _ in range({BATCH}):\n"
              "    child = os.posix_spawn('/bin/true', ['ends-child'], {})\n"
              "    os.waitpid(child, 0)\n"
              "used = resource.getrusage(resource.RUSAGE_CHILDREN)\n"
              "print(used.ru_utime + used.ru_stime - before.ru_utime - before.ru_stime)\n")

    def measure_run_times(self, options=()):
        """Returns the run time of the rows and that of wait4, in ns."""
        window, used = self.record(sys.executable, "-c", self.SCRIPT, options=options)
        rows = [row for row in window.ended if row.value("comm") == "true"]
        self.assertGreaterEqual(len(rows), BATCH)
        return sum(row.value("run_time_ns") for row in rows), float(used) * 1e9

    @by_bpf
    def test_by_bpf(self):
        reported, used = self.measure_run_times()
        self.assertGreater(reported, 0.95 * used)

    @by_netlink
    def test_by_netlink(self):
        """The kernel reports the time up to its last tick or switch: almost nothing for a thread that exits sooner."""
        reported, used = self.measure_run_times(options=[FILES])
        self.assertGreater(reported, used - BATCH * TICK_NS)
        self.assertLess(reported, 1.05 * used)


class LostThreads(ExitCase):
    """A recording that cannot read for a while reports the number of exited threads that it lost."""

    SCRIPT = "kill -STOP $PPID; {} {} {}; kill -CONT $PPID"

    def check(self, *options):
        window, output = self.record("sh", "-c", self.SCRIPT.format(STORM, MORE_THAN_THE_TABLE_HOLDS, STORM_RATE), options=options)
        made, lost = int(output.split()[0]), window.head["ended_lost"]
        count = len([row for row in window.ended if row.value("comm") == os.path.basename(STORM)[:15]])
        self.assertGreater(lost, 0)
        self.assertLess(count, made)
        self.assertGreaterEqual(count + lost, made)

    @by_bpf
    def test_by_bpf(self):
        self.check()

    @by_netlink
    def test_by_netlink(self):
        self.check(FILES)


@by_netlink
class TwoRecordings(ExitCase):
    """A recording that ends does not affect the messages of another one."""

    def test_by_netlink(self):
        inner = os.path.join(self.directory, "inner")
        script = f"{CTPROF} {FILES} record -q -o {inner} -- {STORM} 1000 4000; {STORM} 1000 4000"
        outer, output = self.record("sh", "-c", script, options=[FILES])
        made = [int(line.split()[0]) for line in output.splitlines()]
        self.assertEqual(len(made), 2)
        for window, least in ((Window(inner), made[0]), (outer, sum(made))):
            rows = [row for row in window.ended if row.value("comm") == os.path.basename(STORM)[:15]]
            # The main threads of the commands may be zombies still.
            self.assertGreaterEqual(len(rows), least - len(made))
            self.assertEqual(window.head["ended_lost"], 0)


class ExistingThreads(ExitCase):
    """Threads that existed when the window opened have bases, with BPF and with netlink."""

    SCRIPT = "echo > {0}; while [ ! -e {1} ]; do sleep 0.05; done"

    def check(self, *options):
        fifo, lines = os.path.join(self.directory, "fifo"), os.path.join(self.directory, "lines")
        os.mkfifo(fifo)
        with harness.background_process(ENDS, "threads", "50", lines, fifo) as ends:
            window, _ = self.record("sh", "-c", self.SCRIPT.format(fifo, lines), options=options)
            ends.wait(harness.TIMEOUT)
        self.assertEqual(ends.returncode, 0)
        with open(lines, encoding="ascii") as file:
            pairs = self.pairs(window, [ExitedTask(line) for line in file])
        self.check_faults(pairs)
        for _, row in pairs:
            self.assertFalse(row.born)
            self.assertEqual(row.value("tgid"), ends.pid)
            self.assertEqual(row.value("pcomm"), os.path.basename(ENDS)[:15])
            self.assertIsNotNone(row.value("cgroup"))
            for metric in ("run_time_ns", "minflt", "voluntary_csw"):
                self.assertIsNotNone(row.base(metric), metric)
                self.assertLessEqual(row.base(metric), row.value(metric), metric)

    @by_bpf
    def test_by_bpf(self):
        self.check()

    @by_netlink
    def test_by_netlink(self):
        self.check(FILES)


if __name__ == "__main__":
    unittest.main()
