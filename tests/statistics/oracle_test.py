"""Compares p and intervals with a plain enumeration of all labellings, which shares only the definition with ctprof.

The ends of intervals are found by a search over shifts that recomputes p, not in closed form.
"""

import itertools
import math
import os
import random
import subprocess
import unittest

JUDGE = os.environ["JUDGE"]
SAME = 1e-9
MIN_RESOLUTION = 1e-4


def remove_nan(values):
    return [value for value in values if not math.isnan(value)]


def mean(values):
    return math.fsum(values) / len(values)


def squares(values):
    middle = mean(values)
    return math.fsum((value - middle) ** 2 for value in values)


def ratio(difference, error):
    return difference / error if error > 1e-12 else math.inf if difference > 1e-12 else 0.0


class Sides:
    """Runs of two sides; a labelling is the set of runs that belong to the candidate."""

    def __init__(self, n, m):
        self.n, self.m = n, m

    def labellings(self):
        return [frozenset(chosen) for chosen in itertools.combinations(range(self.n + self.m), self.m)]

    def observed_labelling(self):
        return frozenset(range(self.n, self.n + self.m))

    def split(self, row, labelling):
        return (remove_nan(value for at, value in enumerate(row) if at not in labelling),
                remove_nan(value for at, value in enumerate(row) if at in labelling))

    def shift(self, row, labelling):
        before, after = self.split(row, labelling)
        return mean(after) - mean(before) if before and after else math.nan

    def statistic(self, row, labelling, pad):
        before, after = self.split(row, labelling)
        if not before or not after:
            return 0.0
        free = len(before) + len(after) - 2
        pooled = (squares(before) + squares(after)) / free if free else 0.0
        error = math.sqrt(pooled * (1 / len(before) + 1 / len(after)))
        return ratio(abs(mean(after) - mean(before)), error + pad)

    def pad(self, resolution):
        return max(resolution, MIN_RESOLUTION) * math.sqrt(1 / self.n + 1 / self.m)

    def shift_back(self, row, by):
        return [value - by if at >= self.n else value for at, value in enumerate(row)]

    def remove_gaps(self, row):
        before, after = self.split(row, self.observed_labelling())
        return Sides(len(before), len(after)), before + after


class Pairs:
    """Pairs of runs; a labelling is the sign of each pair."""

    def __init__(self, n):
        self.n = n

    def labellings(self):
        return list(itertools.product((1, -1), repeat=self.n))

    def observed_labelling(self):
        return (1,) * self.n

    def changes(self, row, labelling):
        return remove_nan(sign * (row[self.n + at] - row[at]) for at, sign in enumerate(labelling))

    def shift(self, row, labelling):
        changes = self.changes(row, labelling)
        return mean(changes) if changes else math.nan

    def statistic(self, row, labelling, pad):
        changes = self.changes(row, labelling)
        if not changes:
            return 0.0
        error = math.sqrt(squares(changes) / (len(changes) - 1) / len(changes)) if len(changes) > 1 else 0.0
        return ratio(abs(mean(changes)), error + pad)

    def pad(self, resolution):
        return max(resolution, MIN_RESOLUTION) * math.sqrt(2 / self.n)

    def shift_back(self, row, by):
        return [value - by if at >= self.n else value for at, value in enumerate(row)]

    def remove_gaps(self, row):
        kept = [at for at in range(self.n) if not math.isnan(row[at] + row[self.n + at])]
        return Pairs(len(kept)), [row[at] for at in kept] + [row[self.n + at] for at in kept]


def at_least(values, minimum):
    return sum(value >= minimum * (1 - SAME) if math.isfinite(minimum) else value == minimum for value in values)


def compute_adjusted_p(design, rows, resolutions):
    pads = [design.pad(resolution) for resolution in resolutions]
    labellings = design.labellings()
    table = [[design.statistic(row, labelling, pad) for row, pad in zip(rows, pads)] for labelling in labellings]
    largest = [max(of_rows) for of_rows in table]
    observed_statistics = table[labellings.index(design.observed_labelling())]
    return [at_least(largest, one) / len(largest) for one in observed_statistics]


def unadjusted_p(design, row):
    observed_shift = abs(design.shift(row, design.observed_labelling()))
    at_least_as_large = sum(abs(design.shift(row, labelling)) >= observed_shift - SAME for labelling in design.labellings())
    return at_least_as_large / len(design.labellings())


def end(design, row, alpha, sign):
    """Returns the largest shift that is not rejected, in one direction from the observed shift."""
    design, row = design.remove_gaps(row)
    middle = design.shift(row, design.observed_labelling())

    def accepts(distance):
        return unadjusted_p(design, design.shift_back(row, middle + sign * distance)) > alpha
    if not accepts(1e4):
        inside, outside = 0.0, 1e4
        for _ in range(80):
            half = (inside + outside) / 2
            inside, outside = (half, outside) if accepts(half) else (inside, half)
        return middle + sign * inside
    return sign * math.inf


def judge(design, rows, resolutions, alpha):
    is_paired = isinstance(design, Pairs)
    lines = [f"{design.n} {design.n if is_paired else design.m} {int(is_paired)} {alpha}"]
    lines += [f"{resolution!r} " + " ".join(repr(value) for value in row) for row, resolution in zip(rows, resolutions)]
    out = subprocess.run([JUDGE], input="\n".join(lines) + "\n", stdout=subprocess.PIPE, text=True, check=True).stdout
    first, *found = [line.split() for line in out.splitlines()]
    return [float(word) for word in first], [[float(word) for word in line] for line in found]


def random_row(generator, runs, ties, gaps):
    width = generator.choice([0.01, 0.1, 1.0])
    values = [generator.choice([0.0, 1.0, 2.0]) if ties else generator.gauss(3, width) for _ in range(runs)]
    return [math.nan if gaps and generator.random() < 0.2 else value for value in values]


class Oracle(unittest.TestCase):
    def check(self, design, rows, resolutions, alpha):
        (stored, is_all, floor, _), found = judge(design, rows, resolutions, alpha)
        labellings = len(design.labellings())
        self.assertEqual(is_all, 1)
        has_mirror = isinstance(design, Pairs) or design.n == design.m
        self.assertEqual(stored, labellings / (2 if has_mirror else 1))
        self.assertAlmostEqual(floor, (2 if has_mirror else 1) / labellings, places=12)
        for row, (shift, p, low, high, unadjusted), expected, resolution in zip(rows, found, compute_adjusted_p(design, rows, resolutions), resolutions):
            self.assertAlmostEqual(p, expected if not math.isnan(design.shift(row, design.observed_labelling())) else 1, places=9)
            self.assertAlmostEqual(unadjusted, compute_adjusted_p(design, [row], [resolution])[0] if not math.isnan(design.shift(row, design.observed_labelling())) else 1,
                                   places=9)
            design_without_gaps, values = design.remove_gaps(row)
            if not values or math.isnan(design_without_gaps.shift(values, design_without_gaps.observed_labelling())):
                self.assertTrue(math.isnan(shift))
                continue
            self.assertAlmostEqual(shift, design_without_gaps.shift(values, design_without_gaps.observed_labelling()), places=9)
            for reported, sign in ((low, -1), (high, 1)):
                self.assertTrue(math.isclose(reported, end(design, row, alpha, sign), rel_tol=1e-6, abs_tol=1e-6),
                                (row, reported, end(design, row, alpha, sign)))

    def check_all(self, designs, ties, gaps):
        generator = random.Random(f"{ties} {gaps}")
        for design in designs:
            runs = 2 * design.n if isinstance(design, Pairs) else design.n + design.m
            resolutions = [generator.choice([0.0, 0.01, 0.3]) for _ in range(5)]
            rows = [random_row(generator, runs, ties, gaps) for _ in resolutions]
            rows[1] = [value + (runs > at >= design.n) * 2.5 for at, value in enumerate(rows[1])]
            self.check(design, rows, resolutions, generator.choice([0.05, 0.1, 0.3]))

    SIDES = [Sides(1, 1), Sides(1, 4), Sides(2, 2), Sides(3, 2), Sides(2, 5), Sides(3, 3), Sides(4, 4), Sides(5, 4)]
    PAIRS = [Pairs(1), Pairs(2), Pairs(3), Pairs(5), Pairs(6), Pairs(8)]

    def test_sides(self):
        self.check_all(self.SIDES, ties=False, gaps=False)

    def test_sides_with_ties(self):
        self.check_all(self.SIDES, ties=True, gaps=False)

    def test_sides_with_gaps(self):
        self.check_all(self.SIDES, ties=False, gaps=True)

    def test_pairs(self):
        self.check_all(self.PAIRS, ties=False, gaps=False)

    def test_pairs_with_ties(self):
        self.check_all(self.PAIRS, ties=True, gaps=False)

    def test_pairs_with_gaps(self):
        self.check_all(self.PAIRS, ties=False, gaps=True)

    def test_many_rows(self):
        """Tests more rows than fit in one block of the implementation."""
        generator = random.Random(7)
        rows = [random_row(generator, 6, False, at == 70) for at in range(150)]
        resolutions = [at % 7 / 10 for at in range(150)]
        self.check(Sides(3, 3), rows, resolutions, 0.1)
        self.check(Pairs(3), rows, resolutions, 0.5)

    def test_rows_that_never_change(self):
        self.check(Sides(3, 3), [[0.1] * 6, [0.0] * 6, [1.0] * 3 + [2.0] * 3], [0, 0, 0], 0.1)
        self.check(Pairs(4), [[1.0] * 8, [1.0] * 4 + [2.0] * 4], [0, 1], 0.2)


class Designs(unittest.TestCase):
    def facts(self, n, m, paired, alpha):
        design = Pairs(n) if paired else Sides(n, m)
        return judge(design, [[0.0] * (n + m)], [0], alpha)[0]

    def test_floors(self):
        for n, m, paired, floor in [(3, 3, 0, 0.1), (4, 4, 0, 2 / 70), (5, 5, 1, 0.0625), (6, 6, 1, 0.03125), (2, 3, 0, 0.1)]:
            self.assertAlmostEqual(self.facts(n, m, paired, 0.05)[2], floor, places=9)

    def test_number_of_sufficient_runs(self):
        self.assertEqual([self.facts(3, 3, 0, alpha)[3] for alpha in (0.05, 0.1, 0.001, 1e-3 / 5, 1e-9)], [4, 3, 7, 8, 0])
        self.assertEqual([self.facts(3, 3, 1, alpha)[3] for alpha in (0.05, 0.01, 1e-9)], [6, 8, 0])

    def test_samples_labellings_if_there_are_too_many(self):
        for n, m, paired in ((10, 10, 0), (50, 50, 0), (20, 20, 1)):
            stored, is_all, floor, _ = self.facts(n, m, paired, 0.05)
            self.assertEqual((stored, is_all, floor), (5000, 0, 0.0002))

    def test_sample_agrees_with_all_labellings(self):
        """9 + 9 runs have 48,620 labellings: p of 5,000 of them equals p of all, within the sampling error."""
        generator = random.Random(3)
        rows = [[generator.gauss(0, 1) + (at >= 9) * up for at in range(18)] for up in (0, 0.7, 1.4)]
        found = judge(Sides(9, 9), rows, [0, 0.1, 0.2], 0.05)[1]
        self.assertEqual(judge(Sides(9, 9), rows, [0, 0.1, 0.2], 0.05)[1], found)
        design, largest = Sides(9, 9), []
        pads = [design.pad(resolution) for resolution in (0, 0.1, 0.2)]
        for labelling in design.labellings()[::2]:
            largest.append(max(design.statistic(row, labelling, pad) for row, pad in zip(rows, pads)))
        for row, pad, (_, p, _, _, _) in zip(rows, pads, found):
            expected = at_least(largest, design.statistic(row, design.observed_labelling(), pad)) / len(largest)
            self.assertLess(abs(p - expected), 5 * math.sqrt(expected * (1 - expected) / 5000) + 0.001)

    def test_exchanging_the_sides_mirrors_the_result(self):
        generator = random.Random(5)
        rows = [[generator.gauss(0, 1) for _ in range(9)] for _ in range(3)]
        forward = judge(Sides(4, 5), rows, [0, 0, 0], 0.1)[1]
        backward = judge(Sides(5, 4), [row[4:] + row[:4] for row in rows], [0, 0, 0], 0.1)[1]
        for (shift, p, low, high, _), (other, same, backward_low, backward_high, _) in zip(forward, backward):
            for one, two in ((shift, -other), (p, same), (low, -backward_high), (high, -backward_low)):
                self.assertAlmostEqual(one, two, places=9)


unittest.main()
