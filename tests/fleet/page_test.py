#!/usr/bin/env python3
"""Runs docs/fleet.md: its ten commands, and its queries, for which DuckDB and ClickHouse must give equal results."""

import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import unittest

import fleets
from fleets import CTPROF, Fleet

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "fleet.md").read_text(encoding="utf-8")


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.M | re.S)


def chdb():
    """Returns a ClickHouse session in this process, or None."""
    try:
        from chdb import session
    except ImportError:
        return None
    return session.Session()


class Page(Fleet):
    hosts = 40

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.tools = cls.top / "tools"
        cls.tools.mkdir()
        (cls.tools / "ctprof").symlink_to(CTPROF)
        # This rsync copies to a directory of this host instead of another host.
        (cls.tools / "rsync").write_text('#!/bin/sh\n[ "$1 $2" = "-a --remove-source-files" ] || exit 1\n'
                                         'cp -p "$3"* "${4#collector:/srv/}"\nrm "$3"*\n')
        (cls.tools / "rsync").chmod(0o755)
        cls.collected = cls.top / "fleet"
        cls.collected.mkdir()
        for file in cls.top.glob("*.ctprof.zst"):
            file.rename(cls.collected / file.name)

    def shell(self, command, place):
        finished = subprocess.run(["sh", "-c", command], cwd=place, capture_output=True, text=True, check=False, timeout=300,
                                  env=fleets.environment(PATH=f"{self.tools}:{os.environ['PATH']}"))
        self.assertEqual(finished.returncode, 0, f"{command}\n{finished.stdout}{finished.stderr}")
        return finished.stdout

    def test_ten_commands(self):
        on_hosts, collected = (block.splitlines() for block in blocks("sh"))
        self.assertEqual((len(on_hosts), len(on_hosts) + len(collected)), (3, 10))
        shutil.rmtree(self.collected / fleets.INDEX, ignore_errors=True)
        for command in on_hosts:
            self.shell(command, self.top)
        self.assertEqual(list((self.top / "outbox").iterdir()), [])
        outputs = {shlex.join(shlex.split(command)[:3]): self.shell(command, self.collected) for command in collected}
        self.assertIn("41 files, 41 captures of 41 hosts; 41 read now", outputs["ctprof fleet index"])
        self.assertIn("41 hosts", outputs["ctprof fleet rank"])
        self.assertRegex(outputs["ctprof fleet compare"], "kernel_release 6.12.0 .* against 6.1.0 ")
        self.assertIn("kernel_release 6.12.0: ", outputs["ctprof fleet top"])
        self.assertIn("6.1.0 ", outputs["ctprof fleet sql"])
        self.assertIn("%CPU", outputs["ctprof fleet show"])

    def test_queries_return_rows(self):
        self.assertGreater(len(blocks("sql")), 2)
        self.run_json("index", self.collected)
        for query in blocks("sql"):
            self.assertGreater(len(self.run_json("sql", query, "--index", self.collected)["rows"]), 4, query)

    def test_page_describes_all_views(self):
        self.run_json("index", self.collected)
        for view in ("files", "captures", "facts", "totals", "groups", "metrics", "left_out"):
            row = next(line for line in PAGE.splitlines() if line.startswith(f"| `{view}` |"))
            columns = [column for column, *_ in self.run_json("sql", f"DESCRIBE {view}", "--index", self.collected)["rows"]]
            named = re.split(r"[,; ]+", re.sub(r"\(.*?\)|\.\.\.|and|as maps", "", row.split("|")[3]).strip())
            self.assertLessEqual({name for name in named if name}, set(columns), view)
            if "..." not in row:
                self.assertEqual([name for name in named if name], columns, view)

    def test_clickhouse_gives_equal_results(self):
        clickhouse = chdb()
        if clickhouse is None:
            self.skipTest("no chdb for Python")
        self.run_json("index", self.collected)
        for statement in (fleets.PACKAGE / "ctprof_fleet" / "clickhouse.sql").read_text().split(";\n"):
            clickhouse.query(statement)
        insert, = re.findall(r'"(INSERT INTO stored [^"]*)"', PAGE)
        clickhouse.query(insert.replace("/srv/fleet", str(self.collected)))
        views = ["SELECT count(*) AS n, count(DISTINCT host) AS hosts FROM captures",
                 "SELECT metric, unit, label, floor FROM metrics ORDER BY metric",
                 "SELECT file, reason FROM left_out ORDER BY file", "SELECT count(*) AS n FROM files",
                 "SELECT count(*) AS n, sum(value) AS s FROM groups",
                 "SELECT count(*) AS n, sum(has) AS has, sum(rows) AS r FROM totals"]
        for query in blocks("sql") + views:
            with self.subTest(query):
                self.assert_equal_rows(self.run_json("sql", query, "--index", self.collected)["rows"],
                           json.loads(str(clickhouse.query(query, "JSONCompact")))["data"])

    def assert_equal_rows(self, ours, theirs):
        self.assertEqual(len(ours), len(theirs))
        for one, other in zip(ours, theirs):
            for mine, yours in zip(one, other):
                if isinstance(mine, (int, float)):
                    self.assertAlmostEqual(mine, float(yours), delta=abs(mine) * 1e-9)
                else:
                    self.assertEqual(mine, yours)


if __name__ == "__main__":
    fleets.need_duckdb()
    unittest.main()
