"""Recomputes p, intervals, families and row order of a comparison of several runs from its JSON, by the formulas of docs/statistics.md."""

import itertools
import math

MOST_LABELLINGS, DRAWN_LABELLINGS, SEED = 16384, 5000, 19
SAME, LEAST_RESOLUTION = 1e-9, 1e-4
# Distance from the end of an interval at which shifts are tested, in logarithms.
END_DISTANCE = 1e-6
TOLERANCES = {"rel_tol": 1e-7, "abs_tol": 1e-9}
SIXTY_FOUR_BITS = 2**64 - 1


def remove_nan(values):
    return [value for value in values if value is not None]


def mean(values):
    return math.fsum(values) / len(values)


def squares_about_mean(values):
    middle = mean(values)
    return math.fsum((value - middle) ** 2 for value in values)


class Random:
    """The generator splitmix64, as in core/statistics/labellings.cc."""

    def __init__(self):
        self.state = SEED

    def next(self):
        self.state = (self.state + 0x9e3779b97f4a7c15) & SIXTY_FOUR_BITS
        mixed = self.state
        mixed = ((mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9) & SIXTY_FOUR_BITS
        mixed = ((mixed ^ (mixed >> 27)) * 0x94d049bb133111eb) & SIXTY_FOUR_BITS
        return mixed ^ (mixed >> 31)

    def below(self, end):
        fair = SIXTY_FOUR_BITS - SIXTY_FOUR_BITS % end
        number = self.next()
        while number >= fair:
            number = self.next()
        return number % end


class Design:
    """The assignment of runs to sides. A labelling has a number for each run (or pair): 1 for the candidate (or an exchanged pair).
    The first labelling is the observed one."""

    def __init__(self, baseline, candidate, paired):
        self.n, self.m, self.paired = baseline, candidate, paired
        self.ways = 2**baseline if paired else math.comb(baseline + candidate, candidate)
        self.has_mirror = paired or baseline == candidate
        self.are_all = self.ways <= MOST_LABELLINGS
        self.labellings = self.all() if self.are_all else self.draw_labellings()

    def observed_labelling(self):
        return (0,) * self.n if self.paired else (0,) * self.n + (1,) * self.m

    def all(self):
        if self.paired:
            rest = [(0, *flips) for flips in itertools.product((0, 1), repeat=self.n - 1)]
        else:
            chosen = itertools.combinations(range(self.n + self.m), self.m)
            rest = [tuple(int(at in those) for at in range(self.n + self.m)) for those in map(set, chosen)]
            if self.has_mirror:
                rest = [labelling for labelling in rest if not labelling[0]]
        rest.remove(self.observed_labelling())
        return [self.observed_labelling(), *rest]

    def draw_labellings(self):
        random, marks, found = Random(), list(self.observed_labelling()), []
        for _ in range(DRAWN_LABELLINGS):
            found.append(tuple(marks))
            for left in range(len(marks), 0, -1):
                if self.paired:
                    marks[left - 1] = random.below(2)
                else:
                    other = random.below(left)
                    marks[left - 1], marks[other] = marks[other], marks[left - 1]
        return found

    def smallest_p(self):
        return (2 if self.has_mirror else 1) / self.ways if self.are_all else 1 / DRAWN_LABELLINGS

    def smallest_p_of(self, figures):
        """Returns the smallest possible p of a single row: exchanging equal values changes nothing."""
        if self.paired:
            different = sum(None not in pair and not is_same(*pair) for pair in zip(figures[:self.n], figures[self.n:]))
            return max(self.smallest_p(), min(1, 2 / 2**different))
        known = remove_nan(figures)
        different = len(known) - max(sum(is_same(one, other) for other in known) for one in known)
        total, side = self.n + self.m, min(self.n, self.m)
        if different >= side:
            return self.smallest_p()
        ways = math.comb(total - different, side - different) / math.comb(total, side)
        return max(self.smallest_p(), min(1, (2 if self.n == self.m else 1) * ways))

    def follows_trend(self, figures):
        """Returns whether the pairs only rise or only fall, by about as much as their two runs differ."""
        if not self.paired or self.n < 5 or None in figures:
            return False
        pairs = list(zip(figures[:self.n], figures[self.n:]))
        rises = [sum(after) - sum(before) for before, after in zip(pairs, pairs[1:])]
        if not (all(rise > 0 for rise in rises) or all(rise < 0 for rise in rises)):
            return False
        step = abs(sum(rises)) / (4 * (self.n - 1))
        return step / 2 <= mean([abs(after - before) for before, after in pairs]) <= 2 * step

    def split(self, values, labelling):
        """Returns (baseline, candidate); for pairs ([], differences)."""
        if self.paired:
            pairs = zip(values[:self.n], values[self.n:], labelling)
            return [], [(before - after if exchanged else after - before)
                        for before, after, exchanged in pairs if before is not None and after is not None]
        return (remove_nan([value for value, side in zip(values, labelling) if not side]),
                remove_nan([value for value, side in zip(values, labelling) if side]))

    def difference(self, values, labelling):
        before, after = self.split(values, labelling)
        if not after or not (before or self.paired):
            return None
        return mean(after) - (0 if self.paired else mean(before))

    def pad(self, resolution):
        return max(resolution, LEAST_RESOLUTION) * math.sqrt(1 / self.n + 1 / self.m)

    def statistic(self, values, labelling, pad):
        before, after = self.split(values, labelling)
        if not after or not (before or self.paired):
            return 0.0
        if self.paired:
            error = math.sqrt(squares_about_mean(after) / (len(after) - 1) / len(after)) if len(after) > 1 else 0
            return abs(mean(after)) / (error + pad)
        free = len(before) + len(after) - 2
        pooled = (squares_about_mean(before) + squares_about_mean(after)) / free if free else 0
        return abs(mean(after) - mean(before)) / (math.sqrt(pooled * (1 / len(before) + 1 / len(after))) + pad)


def is_same(one, other):
    return abs(one - other) <= 1e-12 * max(abs(one), abs(other))


def share_at_least(values, minimum):
    return sum(value >= minimum * (1 - SAME) for value in values) / len(values)


class Row:
    def __init__(self, design, reported):
        self.design, self.reported = design, reported
        figures, floor = reported["figures"], reported["floor"]
        self.values = [None if figure is None else math.log(figure + floor) for figure in figures]
        pad = design.pad(reported["resolution"] / (mean(remove_nan(figures)) + floor))
        self.statistics = [design.statistic(self.values, labelling, pad) for labelling in design.labellings]
        self.difference = design.difference(self.values, design.observed_labelling())

    def sides(self):
        """Returns the values between which the row shifts, and shift and interval as fractions of the first value."""
        reported, floor = self.reported, self.reported["floor"]
        pairs = list(zip(self.values[:self.design.n], self.values[self.design.n:])) if self.design.paired else None
        if pairs:
            pairs = [pair for pair in pairs if None not in pair]
            sides = [mean([pair[side] for pair in pairs]) for side in (0, 1)]
        else:
            sides = [mean(side) for side in self.design.split(self.values, self.design.observed_labelling())]
        before, after = (max(0, math.exp(side) - floor) for side in sides)
        if before <= SAME * floor:
            return 0, after, None
        scale = (before + floor) / before
        return before, after, tuple(None if reported[name] is None else max(-1, reported[name] * scale) for name in ("shift", "low", "high"))

    def p_of_shift(self, shift):
        """Returns p of the row without the family, if the candidate is shifted back, from differences of means."""
        n = self.design.n
        values = [None if value is None else value - (shift if at >= n else 0) for at, value in enumerate(self.values)]
        seen = abs(self.design.difference(values, self.design.observed_labelling()))
        differences = [self.design.difference(values, labelling) for labelling in self.design.labellings]
        return sum(one is not None and abs(one) >= seen - SAME for one in differences) / len(differences)

    def has_gaps(self):
        return None in self.values

    def is_end(self, end, sign, alpha):
        """Returns whether shifts inside the end are not rejected and those outside are. Rows with gaps are tested by oracle_test.py."""
        if self.has_gaps():
            return True
        if end is None:
            return self.p_of_shift(self.difference + sign * 50) > alpha
        log = math.log1p(end)
        if abs(log - self.difference) <= END_DISTANCE:  # the interval contains only the observed shift
            return self.p_of_shift(log + sign * 2 * END_DISTANCE) <= alpha or self.p_of_shift(log) > alpha
        return self.p_of_shift(log - sign * END_DISTANCE) > alpha >= self.p_of_shift(log + sign * END_DISTANCE)


class Family:
    """Checks the rows of a family; calls `judge(what, where, is_right, found, expected)` for each value."""

    def __init__(self, evidence, rows, judge):
        self.alpha, self.least, self.judge = evidence["alpha"], evidence["min_shift"], judge
        self.design = Design(evidence["runs_baseline"], evidence["runs_candidate"], evidence["paired"])
        self.rows = [Row(self.design, row) for row in rows]

    def check(self, name):
        largest = [max(of_rows) for of_rows in zip(*[row.statistics for row in self.rows])]
        for row in self.rows:
            where = (name, str(row.reported["group"]), row.reported["metric"])
            self.row(row, where, largest)

    def row(self, row, where, largest):
        reported = row.reported
        allowed = max(self.alpha, self.design.smallest_p())
        self.judge("row is eligible", where, self.design.smallest_p_of(reported["figures"]) <= allowed + SAME, reported["figures"], allowed)
        self.judge("row follows no trend", where, not self.design.follows_trend(reported["figures"]), reported["figures"], "no trend")
        if row.difference is None:
            self.judge("row of one side", where, reported["shift"] is None and reported["p"] is None, reported["p"], None)
            return
        for name, own in (("p", share_at_least(largest, row.statistics[0])), ("p_alone", share_at_least(row.statistics, row.statistics[0])),
                          ("shift", math.expm1(row.difference))):
            self.judge(name, where, math.isclose(reported[name], own, **TOLERANCES), reported[name], own)
        for name, sign in (("low", -1), ("high", 1)):
            self.judge(name, where, row.is_end(reported[name], sign, self.alpha), reported[name], "an end of the interval")
        shown = row.sides()[2] or [reported[name] for name in ("shift", "low", "high")]
        nearest = shown[1] if shown[0] > 0 else None if shown[2] is None else -shown[2]
        proven = reported["p"] <= self.alpha and (self.least == 0 or (nearest is not None and nearest >= self.least))
        self.judge("proven", where, reported["proven"] == proven, reported["proven"], proven)


def key(row):
    return (tuple(row["group"]) if isinstance(row["group"], list) else row["group"], row["metric"])


def check_membership(name, shown, family, judge):
    """Checks that a shown row has a test result exactly if it is in the family, and that the values are equal."""
    known = {key(row): row for row in family}
    for one, row in shown:
        member = known.get(one)
        judge(f"{name} row is in the family", one, (row["p"] is None) == (member is None or member["p"] is None), row["p"], member and member["p"])
        if member:
            for part in ("shift", "low", "high", "p", "proven"):
                judge(f"{name} row as in the family", (*one, part), row[part] == member[part], row[part], member[part])


def screen_rows(report, rows):
    labels = [column["metric"] for column in report["screen"]["headlines"]]
    for row in rows:
        group = tuple(row["group"]) if isinstance(row["group"], list) else row["group"]
        for metric, figures in zip(labels, row["figures"]):
            yield (group, metric), figures[1]


def check_order(name, rows, judge):
    """`rows`: for each row whether it is significant, its unadjusted p (None: not tested), and its score."""
    is_any_proven = any(proven for proven, _, _ in rows)
    places = [(not proven, 1 if is_any_proven or p is None else p, -score) for proven, p, score in rows]
    for at, (before, after) in enumerate(zip(places, places[1:])):
        judge(f"{name} order", (name, at), before <= after, after, before)


def check(report, judge):
    """Checks a report on two sides in JSON."""
    for evidence in report["evidence"][:1]:
        families = [("headlines", evidence["headlines"]), ("details", evidence["details"]), ("functions", evidence["functions"])]
        if evidence["about"]:
            families.append(("about", evidence["about"]["headlines"]))
        design = Design(evidence["runs_baseline"], evidence["runs_candidate"], evidence["paired"])
        for member, own in (("smallest_p", design.smallest_p()), ("all_labellings", design.are_all),
                            ("labellings", design.ways if design.are_all else DRAWN_LABELLINGS),
                            ("headline_rows", len(evidence["headlines"])), ("detail_rows", len(evidence["details"]))):
            judge(member, (), evidence[member] == own, evidence[member], own)
        for name, rows in families:
            if rows:
                Family(evidence, rows, judge).check(name)
        check_membership("details", [(key(row), row) for row in report["rows"]], evidence["details"], judge)
        if "screen" not in report:
            continue
        screen = report["screen"]
        check_membership("screen", screen_rows(report, screen["rows"]), evidence["headlines"], judge)
        check_membership("about", screen_rows(report, screen.get("about_rows", [])), evidence["about"]["headlines"] if evidence["about"] else [], judge)
        for name in ("rows", "about_rows"):
            minimum = [min((figure[1]["p_alone"] for figure in row["figures"] if figure[1]["p_alone"] is not None), default=1)
                     for row in screen.get(name, [])]
            check_order(f"screen {name}", [(row["proven"], p, row["score"]) for row, p in zip(screen.get(name, []), minimum)], judge)


def pairs_of(report):
    """Returns the rows of the headlines' family by group and metric."""
    found = {}
    for evidence in report["evidence"][:1]:
        design = Design(evidence["runs_baseline"], evidence["runs_candidate"], evidence["paired"])
        for row in evidence["headlines"]:
            if row["p"] is not None:
                found[key(row)] = Row(design, row)
    return found
