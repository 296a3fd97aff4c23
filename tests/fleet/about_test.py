"""`ctprof fleet judge` with --about: tests one group as a separate family, in addition to all groups."""

import json
import os
import subprocess
import unittest

NOISY_ROW = [{"group": f"other {at}", "metric": "m", "floor": 1, "entry": "mean", "figures": [100 * (1 + (at * 31 + run * 17) % 13) for run in range(10)]}
             for at in range(30)]
GROUP_TO_TEST = {"group": "svc", "metric": "m", "floor": 1, "entry": "mean", "figures": [100, 104, 99, 101, 110, 112, 108, 118, 104, 116]}


def judge(about, *rows):
    question = {"alpha": 0.05, "min_shift": 0, "baseline": 5, "candidate": 5, "about": about, "axis": "pcomm"}
    stdin = "\n".join(map(json.dumps, [question, *rows])).encode()
    return subprocess.run([os.environ["CTPROF"], "fleet", "judge"], input=stdin, capture_output=True, check=False)


def lines(about, *rows):
    run = judge(about, *rows)
    assert run.returncode == 0, run.stderr
    return [json.loads(line) for line in run.stdout.splitlines()]


def match(about, groups):
    stdin = "\n".join(map(json.dumps, [{"about": about, "axis": "pcomm"}, *({"group": group} for group in groups)])).encode()
    return subprocess.run([os.environ["CTPROF"], "fleet", "match"], input=stdin, capture_output=True, check=False)


class About(unittest.TestCase):
    def test_about_is_a_separate_family(self):
        for about in ("svc", 'pcomm == "svc"', 'group =~ "^s"'):
            with self.subTest(about=about):
                head, *rows, one = lines(about, GROUP_TO_TEST, *NOISY_ROW)
                self.assertEqual((len(rows), head["rows"], one["about"], one["group"]), (31, 31, True, "svc"))
                whole = next(row for row in rows if row["group"] == "svc")
                self.assertLess(one["p"], whole["p"])
                self.assertEqual(one["p"], whole["p_alone"])

    def test_groups_outside_the_tested_family(self):
        """Groups outside the tested family are tested only with --about, and do not affect the other rows."""
        without = lines(None, *NOISY_ROW)
        head, *rows = lines("svc", *NOISY_ROW, GROUP_TO_TEST | {"beyond": True})
        self.assertEqual([head, *rows[:-1]], without)
        self.assertEqual((rows[-1]["about"], rows[-1]["group"], rows[-1]["p"]), (True, "svc", rows[-1]["p_alone"]))
        self.assertEqual(lines("absent", *NOISY_ROW, GROUP_TO_TEST | {"beyond": True}), without)

    def test_match_selects_groups_by_name(self):
        names = ["svc", "svc worker", "a\"b\n", "caf\u00e9"]
        for about, expected in (("svc", ["svc"]), ('group =~ "^svc"', names[:2]), ('group =~ "."', names), ("absent", [])):
            run = match(about, names)
            self.assertEqual((run.returncode, [json.loads(line)["group"] for line in run.stdout.splitlines()]), (0, expected), about)
        for about in ("m < 3", None, 5):
            run = match(about, names)
            self.assertEqual((run.returncode, run.stdout), (2, b""), about)
        self.assertIn(b"--about", match("m < 3", names).stderr)

    def test_no_group_matches(self):
        self.assertFalse([row for row in lines("absent", GROUP_TO_TEST, *NOISY_ROW) if row.get("about")])

    def test_without_about(self):
        self.assertFalse([row for row in lines(None, GROUP_TO_TEST, *NOISY_ROW) if "about" in row])

    def test_figures_select_no_group(self):
        for about in ("m < 3", "comm == \"svc\"", ""):
            run = judge(about, GROUP_TO_TEST)
            self.assertEqual(run.returncode, 2, about)
            self.assertIn(b"--about", run.stderr)


unittest.main()
