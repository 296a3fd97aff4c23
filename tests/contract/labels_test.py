#!/usr/bin/python3
"""Tests the labels of maps of a plugin of a third party: in files of both layouts, reports, comparisons, tables, Prometheus and pages, and after
an older version has written the file again. All figures are those that tests/contract/bad/labels.cc puts.

Environment: CTPROF, FIXTURES; BAD_PLUGINS, the directory of the shared objects.
"""

import csv
import io
import json
import os
import pathlib
import re
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "parity"))
import harness  # noqa: E402
from json_schema import Validator  # noqa: E402

KERNEL = "6.12"
PLUGIN = "labels"
ENTITY = "labels_port"
MOVED = "labels_moved_bytes"
LEFT = {"sda,read": 100, "sda,write": 20}
RIGHT = {"a%2Cb,100%25": 3, "sda,read": 101, "sda,write": 21}
PARTS = {"sda,read": ("sda", "read"), "sda,write": ("sda", "write"), "a%2Cb,100%25": ("a,b", "100%")}


def multiply(figures, factor):
    return {key: factor * value for key, value in figures.items()}


class Labels(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        scratch = harness.scratch()
        self.addCleanup(scratch.cleanup)
        self.here = pathlib.Path(scratch.name)
        (self.here / "plugins").mkdir()
        (self.here / "plugins" / f"{PLUGIN}.so").symlink_to(pathlib.Path(os.environ["BAD_PLUGINS"]) / f"{PLUGIN}.so")

    def capture_with_messages(self, *words, name="file"):
        file = str(self.here / f"{name}.ctprof.zst")
        finished = harness.capture(file, "--force", *words, before=("--plugin-path", str(self.here / "plugins"), "--rootfs", harness.fixture(KERNEL)))
        return file, finished.stderr

    def capture(self, *words, name="file"):
        file, messages = self.capture_with_messages(*words, name=name)
        self.assertNotIn(f"{PLUGIN}.so", messages)
        return file

    def run_tool(self, *words):
        finished = harness.run(*words)
        self.assertEqual(finished.returncode, 0, finished.stderr)
        return finished.stdout

    def rows(self, metric, *words):
        return {row["group"]: row for row in json.loads(self.run_tool(*words, "--format", "json"))["rows"] if row["metric"] == metric}

    def ports(self, file):
        return self.rows(MOVED, "show", file, "--entity", ENTITY)

    def assert_ports(self, file):
        shown = self.ports(file)
        self.assertEqual({name: row["value"] for name, row in shown.items()}, {"left": LEFT, "right": RIGHT})
        for row in shown.values():
            expected = {key: dict(zip(("device", "direction"), PARTS[key])) for key in row["value"]}
            self.assertEqual(row["labels"], expected)

    def table(self, *words):
        return list(csv.DictReader(io.StringIO(self.run_tool(*words))))


class Reports(Labels):
    def test_both_layouts_have_equal_figures(self):
        for layout in ("rows", "columns"):
            with self.subTest(layout):
                file = self.capture("--layout", layout)
                self.assert_ports(file)
                rows, again = str(self.here / "rows.ctprof.zst"), str(self.here / "again.ctprof.zst")
                self.run_tool("export", file, "--to", "ktstr", "-o", rows)
                self.run_tool("export", rows, "--to", "columns", "-o", again)
                self.assert_ports(rows)
                self.assert_ports(again)

    def test_details_name_the_labels(self):
        text = self.run_tool("show", self.capture(), "--entity", ENTITY, "--details", "--limit", "0")
        for words in ("[device=sda direction=read]", "[device=sda direction=write]", "[device=a,b direction=100%]"):
            self.assertIn(f"{MOVED}{words}", text)

    def test_one_label_takes_keys_as_they_are(self):
        row = self.rows("labels_events", "show", self.capture(), "--metrics", "labels_events")["host"]
        self.assertEqual(row["value"], {"a,b%": 5, "c": 1})
        self.assertEqual(row["labels"], {"a,b%": {"kind": "a,b%"}, "c": {"kind": "c"}})

    def test_csv_adds_a_column_for_each_label(self):
        lines = self.table("show", self.capture(), "--entity", ENTITY, "--details", "--format", "csv", "--limit", "0")
        found = {(line["group"], line["key"]): (line["label.device"], line["label.direction"], line["value"]) for line in lines if line["metric"] == MOVED}
        expected = {(port, key): (*PARTS[key], str(value)) for port, keys in (("left", LEFT), ("right", RIGHT)) for key, value in keys.items()}
        self.assertEqual(found, expected)
        self.assertEqual({line["label.device"] for line in lines if line["metric"] != MOVED}, {""})

    def test_other_reports_have_no_new_columns(self):
        line = self.table("show", self.capture(), "--metrics", "run_time_ns", "--format", "csv")[0]
        self.assertFalse([name for name in line if name.startswith("label.")])
        rows = json.loads(self.run_tool("show", self.capture(), "--metrics", "run_time_ns", "--format", "json"))["rows"]
        self.assertFalse([row for row in rows if "labels" in row])

    def test_a_key_is_named_as_stored_or_as_shown(self):
        file = self.capture()
        for key in ("a%2Cb,100%25", "device=a,b direction=100%"):
            with self.subTest(key):
                row = self.rows(f"{MOVED}[{key}]", "show", file, "--entity", ENTITY, "--metrics", f"{MOVED}[{key}]")["right"]
                self.assertEqual(row["value"], 3)
        self.assertEqual(harness.run("show", file, "--entity", ENTITY, "--fail-on", f"{MOVED}[sda,read] > 100").returncode, 1)

    def test_compare_has_the_change_of_each_key(self):
        before, after = self.capture(name="before"), self.capture("--set", "labels.scale=3", name="after")
        shown = self.rows(MOVED, "compare", before, after, "--entity", ENTITY)
        self.assertEqual(shown["right"]["delta"], multiply(RIGHT, 2))
        self.assertEqual(shown["right"]["labels"]["a%2Cb,100%25"], {"device": "a,b", "direction": "100%"})
        self.assertIn(f"{MOVED}[device=a,b direction=100%]", self.run_tool("compare", before, after, "--entity", ENTITY, "--details", "--limit", "0"))

    def test_page_names_the_labels(self):
        before, after = self.capture(name="before"), self.capture("--set", "labels.scale=3", name="after")
        page = self.here / "report.html"
        self.run_tool("report", before, "--vs", after, "--metrics", "labels_calls", "-o", str(page))
        self.assertIn("call=read result=error", page.read_text())

    def test_list_of_metrics_has_the_labels(self):
        words = ("--plugin-path", str(self.here / "plugins"), "metric-list")
        listed = {metric["name"]: metric.get("labels") for metric in json.loads(self.run_tool(*words, "--format", "json"))["metrics"]}
        self.assertEqual([listed[name] for name in (MOVED, "labels_events", "run_time_ns")], [["device", "direction"], ["kind"], None])
        text = self.run_tool(*words)
        self.assertRegex(text, rf"(?m)^{MOVED}  bytes, MapSum over BytesMap, .* by device and direction  \({PLUGIN}\)$")
        self.assertRegex(text, rf"(?m)^labels_events  .* by kind  \({PLUGIN}\)$")
        self.assertIn(f"{MOVED}  bytes, MapSum over BytesMap", self.run_tool("metric-list", self.capture()))

    def test_help_lists_the_labels(self):
        finished = harness.run("--plugin-path", str(self.here / "plugins"), "help", MOVED, "--format", "json")
        self.assertEqual(json.loads(finished.stdout)["labels"], ["device", "direction"], finished.stderr)


    def test_json_matches_its_schema(self):
        file = self.capture()
        for command, words in (("show", ("show", file, "--entity", ENTITY)), ("compare", ("compare", file, file, "--entity", ENTITY)),
                               ("help", ("--plugin-path", str(self.here / "plugins"), "help", MOVED)),
                               ("metric-list", ("--plugin-path", str(self.here / "plugins"), "metric-list"))):
            with self.subTest(command):
                document = json.loads(self.run_tool(*words, "--format", "json"))
                self.assertIn('"labels"', json.dumps(document))
                self.assertEqual(Validator(json.loads(self.run_tool(command, "--json-schema"))).problems(document), [])


class Tables(Labels):
    def test_long_table_has_a_column_for_each_label(self):
        rows = self.table("export", self.capture(), "--to", "csv", "-o", "-", "--rows", "long,threads", "--metrics", "labels_calls,run_time_ns")
        calls = [row for row in rows if row["metric"] == "labels_calls"]
        self.assertTrue(calls)
        for row in calls:
            tid = int(row["id"].split("@")[0])
            self.assertEqual((row["label.call"], int(row["exact"])), ("read", tid if row["label.result"] == "ok" else 1))
            self.assertEqual(row["key"], f"read,{row['label.result']}")
        others = [row for row in rows if row["metric"] == "run_time_ns"]
        self.assertEqual({(row["label.call"], row["label.result"]) for row in others}, {("", "")})

    def test_rows_of_an_entity_have_the_same_columns(self):
        rows = self.table("export", self.capture(), "--to", "csv", "-o", "-", "--entity", ENTITY, "--rows", "long", "--metrics", MOVED)
        found = {(row["id"], row["key"]): (row["label.device"], row["label.direction"], int(row["exact"])) for row in rows if row["metric"] == MOVED}
        expected = {(port, key): (*PARTS[key], value) for port, keys in (("left", LEFT), ("right", RIGHT)) for key, value in keys.items()}
        self.assertEqual(found, expected)

    def test_table_without_labels_is_unchanged(self):
        rows = self.table("export", self.capture(), "--to", "csv", "-o", "-", "--rows", "long,threads", "--metrics", "run_time_ns")
        self.assertEqual(list(rows[0])[-1], "gap")

    def test_wide_table_keeps_the_map(self):
        for row in self.table("export", self.capture(), "--to", "csv", "-o", "-", "--metrics", "labels_calls"):
            self.assertEqual(json.loads(row["labels_calls"]), {"read,error": 1, "read,ok": int(row["tid"])})


class Prometheus(Labels):
    def series(self, file, metric, *words):
        """Returns the samples of one family, by their labels."""
        text = self.run_tool("export", file, "--to", "prometheus", "-o", "-", "--metrics", metric, "--max-series", "0", *words)
        name = re.search(r"^# TYPE (\S+)", text.split("# HELP", 2)[-1], re.M).group(1)
        return {labels: float(value) for labels, value in re.findall(rf"^{name}{{(.*)}} (\S+)$", text, re.M)}

    def test_series_have_the_labels(self):
        found = self.series(self.capture(), "labels_events")
        self.assertEqual(found, {'kind="a,b%"': 5, 'kind="c"': 1})
        calls = self.series(self.capture(), "labels_calls", "--no-thread-normalize")
        self.assertTrue(all(re.fullmatch(r'pcomm=".*",call="read",result="(ok|error)"', labels) for labels in calls), calls)

    def test_label_of_the_group_keeps_its_name(self):
        """The identity of the port is a label `device`, too."""
        found = self.series(self.capture(), MOVED, "--entity", ENTITY)
        expected = {f'device="{port}",key_device="{PARTS[key][0]}",direction="{PARTS[key][1]}"': value
                    for port, keys in (("left", LEFT), ("right", RIGHT)) for key, value in keys.items()}
        self.assertEqual(found, expected)

    def test_limit_counts_groups_not_keys(self):
        text = self.run_tool("export", self.capture(), "--to", "prometheus", "-o", "-", "--metrics", MOVED, "--entity", ENTITY, "--max-series", "5")
        self.assertIn("ctprof_groups_left_out 1", text)
        self.assertEqual(len(re.findall(r'device="right"', text)), 3)


class Files(Labels):
    def header(self, file):
        lines = subprocess.run(["zstd", "-dcq", file], check=True, capture_output=True).stdout.splitlines()
        return [json.loads(line) for line in lines]

    def test_definitions_have_no_field_that_older_versions_do_not_know(self):
        """Those versions do not read an entity whose definitions have unknown fields."""
        lines = self.header(self.capture("--layout", "columns"))
        registry, summary = lines[0]["registry"], next(line for line in lines if line["kind"] == "summary")
        self.assertEqual(registry["labels"], {MOVED: "device,direction", "labels_calls": "call,result", "labels_events": "kind"})
        for metric in registry["metrics"] + summary["entities"][ENTITY]["registry"]["metrics"]:
            self.assertNotIn("labels", metric)

    def test_redaction_replaces_each_label_value(self):
        redacted = str(self.here / "redacted.ctprof.zst")
        self.run_tool("export", self.capture(), "--redact", "--to", "columns", "-o", redacted)
        rows = self.ports(redacted)
        left = next(row for row in rows.values() if len(row["value"]) == 2)
        self.assertEqual(sorted(left["value"].values()), [20, 100])
        devices = {labels["device"] for labels in left["labels"].values()}
        self.assertEqual(len(devices), 1)
        self.assertEqual(len({labels["direction"] for labels in left["labels"].values()}), 2)
        self.assertFalse(devices & {"sda"})


class Faults(Labels):
    def test_malformed_keys_are_gaps_and_reported(self):
        file, messages = self.capture_with_messages("--set", "labels.fault=malformed")
        rows = self.table("export", file, "--to", "csv", "-o", "-", "--rows", "long,threads", "--metrics", "labels_calls,run_time_ns")
        tids = {int(row["id"].split("@")[0]) for row in rows}
        gaps = {int(row["id"].split("@")[0]) for row in rows if row["gap"] == "Malformed"}
        self.assertEqual(gaps, {tid for tid in tids if tid % 2 == 0})
        self.assertIn(f"discarded {len(gaps)} maps with a malformed key: 'labels_calls': key 'read'", messages)

    def test_keys_beyond_the_limit_are_dropped_and_counted(self):
        file, messages = self.capture_with_messages("--set", "labels.fault=many", "--jobs", "2")
        rows = self.table("export", file, "--to", "csv", "-o", "-", "--metrics", "labels_calls")
        for row in rows:
            kept = json.loads(row["labels_calls"])
            self.assertEqual(len(kept), 4096)
            self.assertEqual(kept["read,ok"], int(row["tid"]))
        self.assertIn(f"discarded {2 * len(rows)} map keys: 'labels_calls': more than 4096 keys in one cell", messages)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
