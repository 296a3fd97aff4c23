#!/usr/bin/env python3
"""An index of captures: each file is read once, despite interrupts and concurrent indexers, and excluded files are reported."""

import json
import os
import pathlib
import random
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
import unittest

import fleets
from fleets import INDEX, Fleet

ROUNDS = int(os.environ.get("TEST_ROUNDS", "2"))


class Indexing(Fleet):
    hosts = 60

    def test_each_file_once(self):
        self.remove_index()
        first = self.index()
        self.assertEqual((first["files"], first["captures"], first["hosts"], first["read"], first["gone"]), (60, 60, 60, 60, 0))
        self.assertEqual(self.index()["read"], 0)
        files = sorted(self.top.glob("*.ctprof.zst"))
        os.utime(files[3], ns=(1, files[3].stat().st_mtime_ns + 3 * 86_400 * 10 ** 9))  # another day, so another bucket
        with tempfile.TemporaryDirectory(prefix="fleet-away-") as away:
            shutil.move(files[5], away)
            changed = self.index()
            self.assertEqual((changed["read"], changed["gone"], changed["captures"]), (1, 1, 59))
            shutil.move(pathlib.Path(away) / files[5].name, files[5])
        self.assertEqual(self.index()["captures"], 60)
        self.assertEqual(self.sql("SELECT count(*), count(DISTINCT file) FROM files"), [(60, 60)])

    def test_keeps_files_that_are_not_arguments(self):
        self.remove_index()
        files = sorted(self.top.glob("*.ctprof.zst"))
        self.assertEqual(self.index(files[0], files[1])["captures"], 2)
        self.assertEqual(self.index(self.top / "*7.ctprof.zst")["read"], 6)
        self.assertEqual(self.index(files[2])["captures"], 9)

    def test_survives_sigkill(self):
        self.remove_index()
        self.index()
        whole = self.table()
        dice = random.Random(os.urandom(8))
        took = self.time_of_indexing()
        for _ in range(ROUNDS):
            self.remove_index()
            for _ in range(3):
                process = self.start("index", ".", start_new_session=True)
                time.sleep(dice.random() * took)
                os.killpg(process.pid, signal.SIGKILL)
                process.communicate()
            self.index()
            self.assertEqual(self.table(), whole)
            self.assertEqual([path.name for path in (self.top / INDEX / "buckets").glob("*.new")], [])

    def time_of_indexing(self):
        self.remove_index()
        start = time.monotonic()
        self.index()
        return time.monotonic() - start

    def test_concurrent_indexers_give_the_same_index(self):
        self.remove_index()
        self.index()
        whole = self.table()
        for _ in range(ROUNDS):
            self.remove_index()
            indexers = [self.start("index", ".") for _ in range(3)]
            for indexer in indexers:
                output = indexer.communicate(timeout=300)
                self.assertEqual(indexer.returncode, 0, output)
            self.assertEqual(self.table(), whole)

    def test_concurrent_indexers_share_the_work(self):
        self.remove_index()
        together = [self.start("index", ".", "--format", "json") for _ in range(2)]
        read_counts = [json.loads(one.communicate(timeout=300)[0])["read"] for one in together]
        self.assertEqual(sum(read_counts), 60, read_counts)

    def test_interrupt_ends_indexer_and_reader(self):
        self.remove_index()
        process = self.start("index", ".", start_new_session=True)
        time.sleep(0.3)
        os.killpg(process.pid, signal.SIGINT)
        process.communicate(timeout=60)
        self.assertIn(process.returncode, (0, 130))
        self.assertEqual(self.index()["captures"], 60)

    def test_rebuilds_an_index_of_another_version(self):
        self.remove_index()
        self.index()
        whole = self.table()
        (self.top / INDEX / "about.json").write_text('{"schema": 0, "group_by": "pcomm"}\n')
        self.assertIn("is of another version", self.run_fleet("rank", status=2).stderr)
        self.assertIn("of another version (0", self.run_fleet("index", ".").stderr)
        self.assertEqual(self.table(), whole)
        self.assertIn("groups by pcomm and is rebuilt with groups by all", self.run_fleet("index", ".", "--group-by", "all").stderr)
        self.assertNotEqual(self.table(), whole)
        self.assertEqual(self.index()["read"], 0)

    def test_refuses_indexes_of_others(self):
        self.remove_index()
        self.index()
        os.chmod(self.top / INDEX, 0o777)
        self.assertIn("other users may write", self.run_fleet("rank", status=2).stderr)
        os.chmod(self.top / INDEX, 0o700)
        if os.geteuid() == 0:
            os.chown(self.top / INDEX, 12345, 12345)
            self.assertIn("belongs to user 12345", self.run_fleet("rank", status=2).stderr)
            self.assertIn("belongs to user 12345", self.run_fleet("index", ".", status=2).stderr)
            os.chown(self.top / INDEX, 0, 0)
        self.assertEqual(stat.S_IMODE((self.top / INDEX).stat().st_mode), 0o700)

    def test_index_in_another_directory(self):
        self.remove_index()
        with tempfile.TemporaryDirectory(prefix="fleet-index-") as other:
            self.assertEqual(self.index(".", "--index", other)["captures"], 60)
            self.assertFalse((self.top / INDEX).exists())
            self.assertEqual(self.run_json("rank", "--index", other, cwd="/")["scope"]["hosts"], 60)
            self.assertEqual(self.run_json("rank", env=fleets.environment(CTPROF_FLEET=other), cwd="/")["scope"]["hosts"], 60)
        self.assertIn("there is no index here", self.run_fleet("rank", cwd="/", status=2).stderr)


class DamagedFiles(Fleet):
    hosts = 6

    def setUp(self):
        self.remove_index()
        self.files = sorted(self.top.glob("host*.ctprof.zst"))
        self.whole = self.files[0].read_bytes()

    def add(self, name, content):
        path = self.top / name
        path.write_bytes(content)
        self.addCleanup(path.unlink)
        return path

    def reasons(self, result):
        return {one["file"]: one["why"] for one in result["left_out"]}

    def test_reports_damaged_files(self):
        self.add("empty.ctprof.zst", b"")
        self.add("garbage.ctprof.zst", b"no capture at all\n")
        self.add("cut.ctprof.zst", self.whole[:len(self.whole) // 2])
        flipped = bytearray(self.whole)
        flipped[len(flipped) // 2] ^= 0xff
        self.add("flipped.ctprof.zst", bytes(flipped))
        index_result = self.index()
        self.assertEqual((index_result["files"], index_result["captures"]), (10, 6))
        self.assertEqual(sorted(self.reasons(index_result)), ["cut.ctprof.zst", "empty.ctprof.zst", "flipped.ctprof.zst", "garbage.ctprof.zst"])
        self.assertEqual(self.index()["read"], 0)
        self.assertIn("4 files left out", self.run_fleet("rank").stdout)
        self.assertEqual(self.sql("SELECT count(*) FROM captures"), [(6,)])
        self.assertIn("and 1 more (-v)", self.run_fleet("index", ".").stdout)
        self.assertIn("garbage.ctprof.zst: ", self.run_fleet("index", ".", "-v").stdout)

    def test_excludes_duplicates_in_any_order(self):
        self.add("a-copy.ctprof.zst", self.whole)
        whole = None
        for order in (["a-copy.ctprof.zst", "."], [self.files[0].name, "."], ["."]):
            self.remove_index()
            for words in order:
                index_result = self.index(words)
            self.assertEqual(self.reasons(index_result), {self.files[0].name: "the same capture as in a-copy.ctprof.zst"})
            self.assertEqual(index_result["captures"], 6)
            whole = whole or self.table()
            self.assertEqual(self.table(), whole)

    def test_escapes_file_names(self):
        for name in ("new\nline", "quote'\"; DROP", "[x]*?", "--format", "\x1b[31mred\u202e", "it's#2", "spaß 日本"):
            copy = self.add(f"{name}.ctprof.zst", self.whole)
            self.assertTrue(copy.exists())
        bad = os.fsencode(self.top) + b"/\xff\xfe.ctprof.zst"
        with open(bad, "wb") as file:
            file.write(self.whole)
        self.addCleanup(os.unlink, bad)
        index_result = self.index()
        self.assertEqual((index_result["files"], index_result["captures"]), (13, 6))
        self.assertEqual(len(index_result["left_out"]), 8)
        text = self.run_fleet("index", ".", "-v").stdout
        self.assertIn("\\u{1b}[31mred\\u{202e}", text)
        self.assertIn("is not UTF-8", text)
        self.assertFalse(set(text) & set("\x1b\u202e"))
        self.assertEqual(len(self.sql("SELECT file FROM files WHERE file LIKE 'new' || chr(10) || '%'")), 1)

    def test_opens_no_special_files(self):
        for make in (lambda path: os.mkfifo(path), lambda path: os.symlink("/etc/passwd", path), lambda path: os.symlink("/", path)):
            path = self.top / "odd.ctprof.zst"
            make(path)
            index_result = self.index()
            path.unlink()
            self.assertIn("odd.ctprof.zst", self.reasons(index_result))
            self.assertEqual(index_result["captures"], 6)

    @unittest.skipIf(os.geteuid() == 0, "root may read everything")
    def test_reports_unreadable_files(self):
        closed = self.top / "closed"
        closed.mkdir(mode=0)
        self.addCleanup(closed.rmdir)
        path = self.add("secret.ctprof.zst", self.whole)
        path.chmod(0)
        reasons = self.reasons(self.index())
        self.assertIn("Permission denied", reasons["closed"])
        self.assertIn("Permission denied", reasons["secret.ctprof.zst"])

    def test_excludes_a_file_that_crashes_the_reader(self):
        """A file that crashes ctprof itself affects no other file."""
        self.add("crash.ctprof.zst", self.whole)
        script = self.add("ctprof", f"""#!{sys.executable}
import os, signal, subprocess, sys
stdin = sys.stdin.buffer.read()
if b"crash" in stdin and sys.argv[2] == "read":
    os.kill(os.getpid(), signal.SIGSEGV)
sys.exit(subprocess.run([{os.fspath(fleets.CTPROF)!r}, *sys.argv[1:]], input=stdin).returncode)
""".encode())
        script.chmod(0o755)
        finished = subprocess.run([sys.executable, fleets.PACKAGE, "index", "."], cwd=self.top, env=fleets.environment(CTPROF=str(script)),
                                  capture_output=True, text=True, check=False)
        self.assertEqual(finished.returncode, 0, finished.stderr)
        self.assertIn("7 files, 6 captures", finished.stdout)
        self.assertIn("crash.ctprof.zst: while reading it, ctprof was killed by signal 11", finished.stdout)


if __name__ == "__main__":
    fleets.need_duckdb()
    unittest.main()
