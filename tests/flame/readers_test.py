#!/usr/bin/python3
"""Tests exported stacks with their readers: flamegraph.pl, inferno, pprof, speedscope in a browser, the classes of Perfetto.

The expected sums come from the folded stacks, which are added up here.
"""

import base64
import collections
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import browser  # noqa: E402

MAKE = os.environ["MAKE_FLAME"]
FETCHED = pathlib.Path(os.environ["FETCHED"])  # downloaded by tools/dev, because Debian has no package
FLAMEGRAPH = pathlib.Path("/usr/share/perl5/Devel/NYTProf/flamegraph.pl")  # libdevel-nytprof-perl
INFERNO = shutil.which("inferno-flamegraph") or FETCHED / "inferno/bin/inferno-flamegraph"
SPEEDSCOPE = FETCHED / "npm/node_modules/speedscope/dist/release/index.html"


def make(stacks, form):
    return subprocess.run([MAKE, stacks, form], capture_output=True, check=True).stdout


def run(*command, **options):
    return subprocess.run(list(map(str, command)), capture_output=True, check=True, encoding="utf-8", errors="replace", **options).stdout


def sum_by_frame(folded):
    """Returns inclusive sums, as a flame graph shows them."""
    sums = collections.Counter()
    for line in folded.decode().splitlines():
        path, weight = line.rsplit(" ", 1)
        for frame in set(path.split(";")):
            sums[frame] += int(weight)
    return sums


def read_widths(svg):
    """Returns the widest frame of each name in a graph in the format of flamegraph.pl."""
    sums = collections.Counter()
    for name, samples in re.findall(r"<title>([^<]*) \(([\d,]+) samples, [\d.]+%\)</title>", svg):
        sums[name] = max(sums[name], int(samples.replace(",", "")))
    return sums


class FoldedStacks(unittest.TestCase):
    def test_lines(self):
        lines = make("few", "folded").decode().splitlines()
        self.assertIn("worker;io_1;_start;main;read;entry_SYSCALL_64_[k];vfs_read_[k] 250000000", lines)
        self.assertIn("worker;[truncated];clone 30000000", lines)
        self.assertEqual(len(lines), 8)

    def test_hostile_names_stay_on_one_line(self):
        lines = make("hostile", "folded").decode().splitlines()
        self.assertEqual(len(lines), 20)
        for line in lines:
            self.assertRegex(line, r"^[^ ;]+;[^ ;]+;[^ ;]+;[^ ;]+ 1000000$")
            self.assertLessEqual(max(map(len, re.split("[ ;]", line))), 1024)

    @unittest.skipUnless(FLAMEGRAPH.exists(), "no flamegraph.pl")
    def test_flamegraph(self):
        svg = run("perl", FLAMEGRAPH, "-", input=make("few", "folded").decode())
        sums = sum_by_frame(make("few", "folded"))
        self.assertEqual(read_widths(svg) | {"all": 0}, sums | {"all": 0})
        hostile = run("perl", FLAMEGRAPH, "-", input=make("hostile", "folded").decode())
        self.assertEqual(hostile.count("<script"), svg.count("<script"))

    @unittest.skipUnless(os.path.exists(INFERNO), "no inferno")
    def test_inferno(self):
        svg = run(INFERNO, input=make("few", "folded").decode())
        # inferno shows the suffix as a colour.
        sums = {name.removesuffix("_[k]"): weight for name, weight in sum_by_frame(make("few", "folded")).items()}
        self.assertEqual(read_widths(svg), sums | {"all": 1_000_000_000})
        hostile = run(INFERNO, input=make("hostile", "folded").decode())
        self.assertEqual(hostile.count("<script"), svg.count("<script"))


@unittest.skipUnless(shutil.which("go"), "no go tool pprof")
class Pprof(unittest.TestCase):
    def setUp(self):
        self.home = tempfile.TemporaryDirectory()
        self.addCleanup(self.home.cleanup)

    def pprof(self, stacks, *options):
        path = pathlib.Path(self.home.name) / "profile"
        path.write_bytes(make(stacks, "pprof"))
        return run("go", "tool", "pprof", *options, path, env=os.environ | {"PPROF_TMPDIR": self.home.name})

    def test_top(self):
        output = self.pprof("few", "-top", "-unit=ms")
        self.assertIn("100% of 1000ms total", output)
        rows = {row[5]: row[3] for row in (line.split(None, 5) for line in output.splitlines()[5:])}
        sums = sum_by_frame(make("few", "folded"))
        for name in ("parse(char*)", "main", "memcpy", "libc.so.6+0x10a0"):
            self.assertEqual(rows[name], f"{sums[name] // 1_000_000}ms")
        self.assertEqual(rows["vfs_read"], f"{sums['vfs_read_[k]'] // 1_000_000}ms")
        self.assertIn("100% of 6 total", self.pprof("few", "-top", "-sample_index=faults_stacks"))

    def test_raw(self):
        output = self.pprof("few", "-raw")
        self.assertIn("oncpu_stacks/nanoseconds[dflt] faults_stacks/count", output)
        self.assertRegex(output, r"300000000 +3: 4 3 2 \n +cgroup:\[/a.slice\] process:\[worker\] thread:\[io 1\]\n +pid:\[70\] tid:\[71\]")
        self.assertRegex(output, r"1: 0x\w+/0x\w+/0x0 /usr/bin/worker abcd01\w+ \[FN\]")
        self.assertRegex(output, r"M=2 memcpy /lib/libc.so.6")

    def test_many_and_hostile(self):
        self.assertIn("11830.16ms total", self.pprof("many", "-top", "-nodecount=3"))
        output = self.pprof("hostile", "-raw")
        self.assertIn(r"a\u202egnp.exe\u2066", output)
        self.assertNotIn("\u202e", output)


@unittest.skipUnless(browser.PROGRAM and SPEEDSCOPE.exists(), "no speedscope, or no browser for it")
class Speedscope(unittest.TestCase):
    ROWS = "[...document.querySelectorAll('tr')].map(row => [...row.children].map(cell => cell.textContent))"

    def read_tables(self, stacks):
        """Returns the rows of its tables: profiles with their totals, and functions."""
        chromium = browser.Browser()
        with tempfile.TemporaryDirectory() as home:
            try:
                script = pathlib.Path(home) / "load.js"
                packed = base64.b64encode(make(stacks, "speedscope")).decode()
                script.write_text(f"speedscope.loadFileFromBase64('made.speedscope.json', '{packed}')")
                page = browser.Page(chromium, SPEEDSCOPE, after=f"#localProfilePath={script}&view=sandwich")
                page.wait_for("document.querySelectorAll('tr').length > 3")
                return page.evaluate(self.ROWS)
            finally:
                chromium.close()

    def test_sums(self):
        rows = self.read_tables("few")
        self.assertIn(["1", "oncpu_stacks", "1.00s"], rows)
        self.assertIn(["2", "faults_stacks", "6"], rows)
        self.assertIn(["450.00ms (45%)", "300.00ms (30%)", "parse(char*)"], rows)
        self.assertIn(["250.00ms (25%)", "250.00ms (25%)", "vfs_read"], rows)
        self.assertIn(["800.00ms (80%)", "0.00ns (<0.01%)", "io 1"], rows)

    def test_names(self):
        self.assertIn("<script>alert(1)</script>2", [row[-1] for row in self.read_tables("hostile")])


class SpeedscopeFile(unittest.TestCase):
    def test_file_is_complete(self):
        """The file is written in pieces and is valid JSON."""
        file = json.loads(make("many", "speedscope"))
        (profile,) = file["profiles"]
        self.assertEqual(len(profile["samples"]), len(profile["weights"]))
        self.assertEqual(sum(profile["weights"]), profile["endValue"])
        self.assertLess(max(map(max, profile["samples"])), len(file["shared"]["frames"]))


class Perfetto(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        sys.path.insert(0, str(FETCHED / "python"))
        try:
            from perfetto.protos.perfetto.trace import perfetto_trace_pb2
        except ImportError:
            raise unittest.SkipTest("no perfetto package")
        cls.proto = perfetto_trace_pb2

    def read(self, stacks):
        trace = self.proto.Trace()
        trace.ParseFromString(make(stacks, "perfetto"))
        return trace

    def test_sums(self):
        sums, names, frames, stacks, threads, times = collections.Counter(), {}, {}, {}, {}, []
        for packet in self.read("few").packet:
            self.assertEqual(packet.trusted_packet_sequence_id, 1)
            threads |= {(thread.tgid, thread.tid): thread.name for thread in packet.process_tree.threads}
            names |= {entry.iid: entry.str.decode() for entry in packet.interned_data.function_names}
            frames |= {frame.iid: frame for frame in packet.interned_data.frames}
            stacks |= {stack.iid: list(stack.frame_ids) for stack in packet.interned_data.callstacks}
            if not packet.HasField("stack_sample"):
                continue
            sample = packet.stack_sample
            times.append(packet.timestamp)
            frame_names = [threads[sample.task_context.pid, sample.task_context.tid]]
            frame_names += [names[frames[frame].function_name_id] for frame in stacks[sample.callstack_iid]]
            for name in set(frame_names):
                sums[name] += sample.primary_weight
            sums["faults"] += sum(sample.follower_weights)
        self.assertEqual(times, sorted(set(times)))
        expected = sum_by_frame(make("few", "folded"))
        self.assertEqual(sums["io 1"], expected["io_1"])
        self.assertEqual(sums["vfs_read"], expected["vfs_read_[k]"])
        self.assertEqual(sums["faults"], 6)
        for name in ("main", "parse(char*)", "memcpy", "[truncated]", "kworker/0:1"):
            self.assertEqual(sums[name], expected[name], name)

    def test_describes_values_and_code(self):
        packets = self.read("few").packet
        defaults = packets[0].trace_packet_defaults.stack_sample_defaults
        unit = self.proto.StackSample
        self.assertEqual((defaults.primary_descriptor.name, defaults.primary_descriptor.unit), ("oncpu_stacks", unit.UNIT_NANOSECONDS))
        self.assertEqual([(counter.name, counter.unit) for counter in defaults.follower_descriptors], [("faults_stacks", unit.UNIT_COUNT)])
        names = next(packet.interned_data for packet in packets if packet.interned_data.mappings)
        self.assertIn(b"/lib/libc.so.6", [path.str for path in names.mapping_paths])
        self.assertTrue(names.build_ids[0].str.startswith(b"abcd01"))
        kinds = collections.Counter(frame.kind for frame in names.frames)
        self.assertEqual(kinds[self.proto.Frame.KIND_KERNEL], 4)
        self.assertEqual(kinds[self.proto.Frame.KIND_JIT], 1)

    def test_other_stacks(self):
        for stacks, samples in (("hostile", 20), ("none", 0), ("many", 100_000)):
            with self.subTest(stacks):
                found = self.read(stacks).packet
                self.assertEqual(sum(packet.HasField("stack_sample") for packet in found), samples)


if __name__ == "__main__":
    unittest.main(verbosity=2)
