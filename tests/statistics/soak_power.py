"""Plants differences of about 20 % into a service on this host, and compares 6 interleaved pairs of runs: the test must detect them.

    soak_power.py [TIMES]      40 times by default: the kinds work, lock, faults and naps of soak_significance.py in turn

The service reports its CPU time, page faults, voluntary switches and blocked time, so that the true shift of each is known. For the
planted headline, by the standard deviation of the differences of its pairs:

    at most 2 %    significant among all groups of the host in 9 of 10 comparisons
    at most 4 %    significant with --about in 9 of 10
    above 4 %      significant as often as simulated: differences are drawn with this deviation, and tested among the other rows of the
                   comparison. Both shares may differ by 5 points, and by two standard errors of so few comparisons

At least 92 % of the intervals of the four headlines must contain the true shift. Each report is computed again from its JSON.

Prints a line for each comparison, and a summary. soak_significance.py describes the exit status, the load and the environment.
"""

import math
import pathlib
import random
import statistics
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "recompute"))

import significance
import soak_significance

PAIRS = 6
HEADLINES = {"work": "%CPU", "lock": "%blocked", "faults": "flt/s", "naps": "vcsw/s"}
# The totals of a line of the service's report, after the condition and the time.
REPORTED = ("%CPU", "flt/s", "vcsw/s", "%blocked")
STEADY, VARIABLE = 0.02, 0.04
MIN_DETECTED, MIN_INSIDE, MAX_DISTANCE = 0.9, 0.92, 0.05
DRAWS = 300


def true_shifts(report):
    """Returns the shift of each headline, as the service measured it over all runs of both conditions."""
    lines = [line.split() for line in report.splitlines()]
    sums = {"a": [0] * 5, "b": [0] * 5}
    for before, after in zip(lines, lines[1:]):
        condition = sums[after[0]]
        for at in range(5):
            condition[at] += int(after[1 + at]) - int(before[1 + at])
    a, b = sums["a"], sums["b"]
    return {label: (b[at] / b[0]) / (a[at] / a[0]) - 1 for at, label in enumerate(REPORTED, 1)}


def draw_detected(design, others, pad, deviation, shift, alpha):
    """Returns in which share of drawn comparisons a row with this deviation of its pairs and this shift is significant; both in logarithms.
    `others`: by labelling, the largest statistic of the other rows."""
    generator, found = random.Random(7), 0
    for _ in range(DRAWS):
        drawn = [generator.gauss(0, 1) for _ in range(design.n)]
        middle, spread = statistics.mean(drawn), statistics.stdev(drawn)
        centre = shift + deviation / math.sqrt(design.n) * generator.gauss(0, 1)
        values = [0.0] * design.n + [centre + deviation * (one - middle) / spread for one in drawn]
        own = [design.statistic(values, labelling, pad) for labelling in design.labellings]
        reached = 1 + sum(max(one, other) >= own[0] for one, other in zip(own[1:], others[1:]))
        found += reached / len(own) <= alpha
    return found / DRAWS


class Comparison:
    """The rows of the service in a report."""

    def __init__(self, report):
        self.report, self.evidence = report, report["evidence"][0]
        self.metrics = {column["label"]: column["metric"] for column in report["screen"]["headlines"]}
        self.design = significance.Design(PAIRS, PAIRS, True)

    def find(self, label, family):
        return next((row for row in family if row["group"] == soak_significance.SERVICE and row["metric"] == self.metrics[label]), None)

    def simulate(self, family, row, truth):
        rows = {significance.key(one): significance.Row(self.design, one) for one in family}
        own = rows.pop(significance.key(row))
        others = [max(of_rows) for of_rows in zip(*[one.statistics for one in rows.values()])] or [0] * len(self.design.labellings)
        mean = sum(row["figures"]) / len(row["figures"])
        pad = self.design.pad(row["resolution"] / (mean + row["floor"]))
        before = own.sides()[0]
        shift = math.log((before * (1 + truth) + row["floor"]) / (before + row["floor"]))
        return draw_detected(self.design, others, pad, statistics.stdev(self.differences(own.values)), shift, self.evidence["alpha"])

    def differences(self, values):
        return self.design.split(values, self.design.observed_labelling())[1]

    def deviation(self, row):
        """Returns the deviation of the pairs' differences without the floor."""
        return statistics.stdev(self.differences([math.log(figure) for figure in row["figures"]]))

    def interval_contains(self, label, shift):
        """Returns none if the row was not tested."""
        row = self.find(label, self.evidence["headlines"])
        if not row:
            return None
        before, _, shown = significance.Row(self.design, row).sides()
        if not shown:
            return None
        low, high = (math.inf * sign if end is None else end for sign, end in zip((-1, 1), shown[1:]))
        return low <= shift <= high

    def describe(self, label, truth):
        """Returns the results for the planted headline."""
        row, alone = (self.find(label, family) for family in (self.evidence["headlines"], self.evidence["about"]["headlines"]))
        deviation = self.deviation(row)
        shift = significance.Row(self.design, row).sides()[2][0]
        result = {"label": label, "deviation": deviation, "truth": truth, "shift": shift, "p": row["p"],
                  "rows": len(self.evidence["headlines"]), "detected": row["proven"], "detected_alone": alone["proven"]}
        if deviation > VARIABLE:
            result["simulated"] = self.simulate(self.evidence["headlines"], row, truth)
            result["simulated_alone"] = self.simulate(self.evidence["about"]["headlines"], alone, truth)
        return result


def count_wrong_values(report):
    judged = []
    significance.check(report, lambda what, where, is_right, found, own: judged.append(None if is_right else (what, where, found, own)))
    wrong = [one for one in judged if one]
    for what, where, found, own in wrong[:5]:
        print(f"{what} of {where}: ctprof reports {found}, recomputed {own}", flush=True)
    return len(judged), len(wrong)


def measure(kind, directory):
    runs = directory / "runs"
    truth = true_shifts(soak_significance.record(runs, kind, directory, pairs=PAIRS))
    report = soak_significance.compare_runs(runs, "--about", soak_significance.SERVICE)
    comparison = Comparison(report)
    computed, wrong = count_wrong_values(report)
    inside = {label: comparison.interval_contains(label, truth[label]) for label in REPORTED}
    return {**comparison.describe(HEADLINES[kind], truth[HEADLINES[kind]]), "inside": inside, "computed": computed, "wrong": wrong}


def describe_result(result):
    simulated = f", simulated {result['simulated']:.0%} and {result['simulated_alone']:.0%}" if "simulated" in result else ""
    return (f"{result['kind']}: {result['label']} {result['shift']:+.1%} (true {result['truth']:+.1%}), pairs vary by {result['deviation']:.1%}: "
            f"{'detected' if result['detected'] else 'not detected'} among {result['rows']} rows, p {result['p']:.3g}; "
            f"{'detected' if result['detected_alone'] else 'not detected'} with --about{simulated}; "
            f"true shift outside the interval: {', '.join(label for label, inside in result['inside'].items() if inside is False) or 'none'}")


def judge_share(what, rows, name):
    found = sum(row[name] for row in rows)
    print(f"{what}: {found} of {len(rows)} detected, at least {MIN_DETECTED:.0%} required")
    return found >= MIN_DETECTED * len(rows)


def judge_simulated(what, rows, name, simulated):
    if not rows:
        return True
    found, expected = sum(row[name] for row in rows) / len(rows), sum(row[simulated] for row in rows) / len(rows)
    error = math.sqrt(sum(row[simulated] * (1 - row[simulated]) for row in rows)) / len(rows)
    print(f"{what}: {found:.0%} of {len(rows)} detected, {expected:.0%} simulated (standard error {error:.0%})")
    return abs(found - expected) <= MAX_DISTANCE + 2 * error


def limits_are_met(results):
    steady = [row for row in results if row["deviation"] <= STEADY]
    variable = [row for row in results if row["deviation"] <= VARIABLE]
    noisy = [row for row in results if row["deviation"] > VARIABLE]
    inside = [one for row in results for one in row["inside"].values() if one is not None]
    computed, wrong = (sum(row[name] for row in results) for name in ("computed", "wrong"))
    verdicts = [judge_share("pairs that vary by at most 2 %, all groups", steady, "detected"),
                judge_share("pairs that vary by at most 4 %, --about", variable, "detected_alone"),
                judge_simulated("pairs that vary by more than 4 %, all groups", noisy, "detected", "simulated"),
                judge_simulated("pairs that vary by more than 4 %, --about", noisy, "detected_alone", "simulated_alone"),
                sum(inside) >= MIN_INSIDE * len(inside), wrong == 0]
    print(f"intervals that contain the true shift: {sum(inside)} of {len(inside)}, at least {MIN_INSIDE:.0%} required")
    print(f"computed again: {computed} values, {wrong} differ")
    return all(verdicts)


def soak(times, path):
    results, status = [], 0
    try:
        for result in soak_significance.series(list(HEADLINES), times, path, measure):
            results.append(result)
            print(describe_result(result), flush=True)
    except soak_significance.Interrupted:
        print("interrupted", flush=True)
        status = soak_significance.INTERRUPTED
    return int(not limits_are_met(results)) or status


if __name__ == "__main__":
    sys.exit(soak_significance.run(lambda path: soak(int(sys.argv[1]) if len(sys.argv) > 1 else 40, path)))
