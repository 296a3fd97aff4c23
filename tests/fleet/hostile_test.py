#!/usr/bin/env python3
"""The owner of files and directories is malicious: this may affect only that file or directory."""

import collections
import datetime
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import fleets
from fleets import Fleet

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "tables"))
import constructed_files  # noqa: E402

FAR_FUTURE_NS = 2 ** 63 - 1


class HostileFiles(Fleet):
    hosts = 6

    def setUp(self):
        self.remove_index()
        self.files = sorted(self.top.glob("host*.ctprof.zst"))

    def add(self, name, change=lambda header: None):
        """Adds a capture of another host with a changed header."""
        lines = constructed_files.lines_of(self.files[0])
        lines[0]["ctprof"]["hostname"] = name
        lines[0]["ctprof"]["boot_id"] = "of-" + name
        change(lines[0])
        path = self.top / f"{name}.ctprof.zst"
        constructed_files.write(path, lines)
        self.addCleanup(path.unlink)
        return path

    def test_accepts_invalid_times(self):
        for at, moment in enumerate((FAR_FUTURE_NS, FAR_FUTURE_NS - 1, 2 ** 63, 2 ** 64 - 1, 0)):
            self.add(f"moment{at}", lambda header, moment=moment: header["ctprof"]["start"].update(wall_unix_ns=moment))
        self.assertEqual(self.index()["files"], 11)
        for question in (["rank"], ["top"], ["compare", "--by", "kernel"], ["sql", "FROM captures"], ["rank", "--since", "2020-01-01"]):
            self.run_fleet(*question)
        self.assertEqual(self.sql("SELECT count(captured_at) FROM captures WHERE host LIKE 'host-%'"), [(6,)])

    def test_accepts_unusual_file_times(self):
        for at, year in enumerate((1902, 2261, 2263, 2400)):
            path = self.add(f"year{at}")
            seconds = int(datetime.datetime(year, 1, 1, tzinfo=datetime.timezone.utc).timestamp())
            os.utime(path, ns=(0, seconds * 10 ** 9))
        self.assertEqual(self.index()["captures"], 10)
        self.assertEqual(self.index()["read"], 0)
        self.assertEqual(self.sql("SELECT count(modified_at) FROM files"), [(10,)])

    def test_ignores_directories_that_look_like_columns(self):
        place = self.top / "host=evil" / "row=capture" / "kind=x" / "a[b]*{c,d}'\n"
        place.mkdir(parents=True)
        self.addCleanup(shutil.rmtree, self.top / "host=evil")
        for file in self.files:
            shutil.copy(file, place)
        result = self.run_json("index", ".", cwd=place)
        self.assertEqual((result["files"], result["captures"], result["hosts"]), (6, 6, 6))
        self.assertEqual(self.run_json("index", ".", cwd=place)["read"], 0)
        self.assertEqual(self.run_json("sql", "SELECT DISTINCT kind FROM captures", cwd=place)["rows"], [["window"]])

    def test_limits_facts_of_small_files(self):
        """A file of one megabyte that contains 100 captures with 4 MB of facts each."""
        path = self.add("much", lambda header: header["host"].update({f"fact{at}": "A" * 8000 for at in range(480)}))
        path.write_bytes(path.read_bytes() * 100)
        result = self.index()
        self.assertEqual((result["files"], result["captures"]), (7, 7))
        [(length, left_out)] = self.sql("SELECT length(facts::VARCHAR), facts_left_out FROM captures WHERE host = 'much'")
        self.assertLess(length, 150_000)
        self.assertGreater(left_out, 400)

    def test_limits_captures_of_a_file(self):
        path = self.add("many", lambda header: header["host"].update({f"fact{at}": "A" * 8000 for at in range(15)}))
        path.write_bytes(path.read_bytes() * 1200)
        with subprocess.Popen([fleets.CTPROF, "fleet", "read"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as reader:
            reader.stdin.write(os.fsencode(path) + b"\0")
            reader.stdin.close()
            sizes, last = [], collections.deque(maxlen=2)
            for line in reader.stdout:
                sizes.append(len(line))
                last.append(line)
        self.assertLess(sum(sizes), 130 << 20)
        self.assertRegex(json.loads(last[0])["told"], "contains [0-9]+ more captures, which are left out")
        self.assertTrue(json.loads(last[1])["done"])

    def test_imports_no_modules_from_the_working_directory(self):
        self.index()
        with tempfile.TemporaryDirectory(prefix="fleet-planted-") as planted:
            for module in ("duckdb", "_duckdb", "json", "argparse", "sitecustomize", "usercustomize"):
                (pathlib.Path(planted) / f"{module}.py").write_text("import pathlib\npathlib.Path('taken').touch()\n")
            good = os.environ.get("PYTHONPATH", "")
            for path in (f":{good}", f"{good}:", f"{good}::", f".:{good}"):
                self.run_fleet("rank", "--index", self.top, cwd=planted, env=fleets.environment(PYTHONPATH=path))
                self.assertFalse((pathlib.Path(planted) / "taken").exists(), path)


if __name__ == "__main__":
    fleets.need_duckdb()
    unittest.main()
