"""The first screen of windows: the headlines and thread counts of each group, and whether the group is new or gone.

    Screen([side]).figure("sh", headline, 0)     # (value, change) in percent of one CPU, per second, or as a level
"""

from fractions import Fraction

from accounts import BLOCKED
from capture_file import has_value
from figures import UNKNOWN
from sides import median

PERCENT, RATE, LEVEL = range(3)
NAMES = ("percent", "rate", "level")
SECOND = 10**9
# A group whose thread count changes by this number is not quiet.
THREADS = 20
# Scores are doubles, and sums of doubles.
PRECISION_OF_SCORES = Fraction(1, 10**9)


class Headline:
    def __init__(self, metric, shown, label, by_change=False, floor=0, unit="", role=""):
        self.metric, self.shown, self.label = metric, shown, label
        self.by_change, self.floor, self.unit, self.role = by_change, Fraction(floor), unit, role


def headlines(span):
    """Returns the columns in order, from the registry of the file; blocked time is defined by the core."""
    found = [(30, Headline(BLOCKED, PERCENT, "%blocked", by_change=True))]
    for metric in [*span.last.metrics.values(), *span.derived.values()]:
        if shown := metric.get("headline"):
            found.append((shown["order"], Headline(metric["name"], shown["shown"], shown["label"], shown.get("by_change", False),
                                                   shown["floor"], metric.get("unit") or "", metric.get("role") or "")))
    return [headline for _, headline in sorted(found, key=lambda one: one[0])]


class Machine:
    """The maximum capacity of the hosts of all runs: CPUs, bytes of memory, bytes per second of the disks and the share of time
    in which they had requests."""

    def __init__(self, spans):
        self.cpus = max(self.host(span, "host-cpus") for span in spans)
        self.memory = max(span.last.header.get("host", {}).get("total_memory_kib", 0) for span in spans) * 1024
        self.disk_bytes, self.disk_busy = map(max, zip(*map(self.disks, spans)))

    def host(self, span, role):
        name = span.last.with_role(role)
        found = span.value("host", name, 0) if name else 0
        return found if has_value(found) else 0

    def disks(self, span):
        wall = self.host(span, "host-wall")
        if not wall:
            return 0, 0
        size = self.host(span, "disk-read") + self.host(span, "disk-write")
        return Fraction(size * SECOND, wall), min(Fraction(self.host(span, "disk-busy"), wall), Fraction(1))

    def share(self, headline, figure):
        """Returns a value as a share of the machine's time or memory; None if the column has no weight."""
        if headline.by_change:
            return None
        if headline.shown == PERCENT:
            of_cpus = headline.role in ("run-time", "wait-time")
            return min(abs(figure), 100 * self.cpus if of_cpus else 100) / (100 * self.cpus)
        if headline.unit != "bytes":
            return None
        if headline.shown == LEVEL:
            return min(abs(Fraction(figure)) / self.memory, Fraction(1))
        return min(abs(figure) / self.disk_bytes, Fraction(1)) * self.disk_busy if self.disk_bytes and self.disk_busy else None

    def floor(self, headline):
        if headline.shown == PERCENT:
            return headline.floor * 100 / SECOND
        return min(headline.floor, Fraction(self.memory, 100)) if headline.shown == LEVEL and headline.unit == "bytes" else headline.floor


class Screen:
    def __init__(self, sides):
        """REQUIRES: the values of the sides are per second."""
        self.sides = sides

    def figure(self, group, headline, number):
        side = self.sides[number]
        if not side.has(group, headline.metric):
            changes = [run.change_of_missing_group(group, headline.metric) for run in side.runs]
            known = [change for change in changes if change is not None]
            return 0, None if headline.shown != LEVEL or not known else UNKNOWN if UNKNOWN in known else median(known)
        value = side.value(group, headline.metric)
        if headline.shown == LEVEL:
            return value, side.change(group, headline.metric)
        return None if value is None else Fraction(value) * (100 if headline.shown == PERCENT else SECOND) / SECOND, None

    def threads(self, group, number):
        """Returns the medians over the runs; started threads include those that exited again."""
        counts = []
        for run in self.sides[number].runs:
            table, rows = run.span.tables["thread"], run.rows["thread"].get(group, ())
            counts.append((sum(not table.ended[row] for row in rows), sum(table.born[row] for row in rows), sum(table.ended[row] for row in rows)))
        return dict(zip(("living", "born", "ended"), (median(list(column)) for column in zip(*counts))))

    def is_new(self, group):
        """One side: no thread of the group existed at the opening. Two sides: only the last side has the group."""
        if len(self.sides) > 1:
            return not self.has_threads(0, group) and self.has_threads(-1, group)
        return all(run.span.tables["thread"].born[row] for run in self.sides[0].runs for row in run.rows["thread"].get(group, ())) and \
            not any(run.rows["opening_only"]["thread"].get(group) for run in self.sides[0].runs)

    def has_disappeared(self, group):
        if len(self.sides) > 1:
            return self.has_threads(0, group) and not self.has_threads(-1, group)
        return all(run.span.tables["thread"].ended[row] for run in self.sides[0].runs for row in run.rows["thread"].get(group, ()))

    def has_threads(self, number, group):
        return self.sides[number].threads(group) > 0


class OrderCheck:
    """Checks the score of each row and its column, the order of the rows, and that no row is quiet. Significance and unadjusted p
    are taken from the report; significance.py recomputes them."""

    def __init__(self, tally, command, screen, columns):
        self.tally, self.command, self.screen, self.columns = tally, command, screen, columns
        self.machine = Machine([run.span for side in screen.sides for run in side.runs])

    def check(self, rows, is_tree):
        before = None
        orders_by_p = not any(row["proven"] for row in rows)
        for row in rows:
            group = tuple(row["group"]) if isinstance(row["group"], list) else row["group"]
            score, labels = self.score(group, row)
            where = (self.command, group)
            self.tally.check("screen score", where, row["score"], score, PRECISION_OF_SCORES)
            least = min((figure["p_alone"] for figures in row["figures"] for figure in figures if figure["p_alone"] is not None), default=1)
            if orders_by_p and least < 1:
                labels = self.columns_with_smallest_p(group, row, least)
            if score or (orders_by_p and least < 1):
                self.tally.judge("screen order decided by", where, row["decided_by"] in labels, row["decided_by"], sorted(labels))
            self.tally.judge("screen row is above a floor", where, row["proven"] or self.reaches_floor(group), "on the screen", "quiet")
            place = (not row["proven"], least if orders_by_p else 1, -score, group)
            if before and not is_tree:
                is_tie = before[:2] == place[:2] and abs(before[2] - place[2]) <= PRECISION_OF_SCORES
                self.tally.judge("screen order", where, before <= place or is_tie, "after", before)
            before = place

    def columns_with_smallest_p(self, group, row, least):
        """Returns the labels of the columns with the smallest p; of several, those with the largest share."""
        shares = {}
        for headline, found in zip(self.columns, row["figures"]):
            if least in (figure["p_alone"] for figure in found):
                figure = self.share_value(headline, self.values_of_sides(group, headline))
                share = None if figure is None else self.machine.share(headline, figure)
                shares[headline.label] = Fraction(-1) if share is None else share
        largest = max(shares.values())
        return {label for label, share in shares.items() if abs(share - largest) <= PRECISION_OF_SCORES}

    def values_of_sides(self, group, headline):
        return [self.screen.figure(group, headline, number) for number in range(len(self.screen.sides))]

    def change(self, figures):
        """Returns the change to the side that differs most from the first; None if none is known."""
        if figures[0][0] is None:
            return None
        return max((Fraction(value) - Fraction(figures[0][0]) for value, _ in figures[1:] if value is not None), key=abs, default=None)

    def share_value(self, headline, figures):
        if len(figures) > 1:
            return self.change(figures)
        value, change = figures[0]
        known = [abs(one) for one in (value, change if headline.shown == LEVEL else None) if one is not None and one is not UNKNOWN]
        return max(known, default=None)

    def score(self, group, row):
        """Returns the largest share, and the labels that have it."""
        shares = {}
        for headline, found in zip(self.columns, row["figures"]):
            figure = self.share_value(headline, self.values_of_sides(group, headline))
            share = None if figure is None else self.machine.share(headline, figure)
            if share is not None and (not row["proven"] or any(one["proven"] for one in found)):
                shares[headline.label] = share
        score = max(shares.values(), default=Fraction(0))
        return score, {label for label, share in shares.items() if abs(share - score) <= PRECISION_OF_SCORES}

    def growth(self, group, number):
        """Returns the change of the number of living threads in the window."""
        opening_only_counts = [len(run.rows["opening_only"]["thread"].get(group, ())) for run in self.screen.sides[number].runs]
        counts = self.screen.threads(group, number)
        return counts["born"] - counts["ended"] - median(opening_only_counts)

    def has_other_threads(self, group):
        sides = range(len(self.screen.sides))
        living = [self.screen.threads(group, number)["living"] for number in (sides[0], sides[-1])]
        return abs(living[1] - living[0]) >= THREADS or any(abs(self.growth(group, number)) >= THREADS for number in sides)

    def reaches_floor(self, group):
        if self.has_other_threads(group):
            return True
        for headline in self.columns:
            if headline.by_change:
                continue
            figures, floor = self.values_of_sides(group, headline), self.machine.floor(headline)
            loud = [change if headline.shown == LEVEL else value for value, change in figures]
            loud += [self.change(figures)] if len(figures) > 1 else []
            if any(one not in (None, UNKNOWN, 0) and abs(one) * (1 + PRECISION_OF_SCORES) >= floor for one in loud):
                return True
        return False


class ScreenCheck:
    def __init__(self, tally, command):
        self.tally, self.command = tally, command

    def check(self, report, sides):
        screen, columns = Screen(sides), headlines(sides[0].runs[0].span)
        shown = report["screen"]
        recomputed = [(one.label, NAMES[one.shown]) for one in columns]
        # If a file is older than a derived metric, the plugins of ctprof define its column.
        places = [at for at, one in enumerate(shown["headlines"]) if one["metric"] in {column.metric for column in columns}]
        self.tally.check("screen columns", (self.command,), [(shown["headlines"][at]["label"], shown["headlines"][at]["shown"]) for at in places], recomputed)
        rows = [dict(row, figures=[row["figures"][at] for at in places]) for row in shown["rows"]]
        for row in rows:
            group = tuple(row["group"]) if isinstance(row["group"], list) else row["group"]
            for at, headline in enumerate(columns):
                for number in range(len(sides)):
                    where = (self.command, group, headline.label)
                    self.cell(where, row["figures"][at][number], *screen.figure(group, headline, number))
            for number in range(len(sides)):
                for name, count in screen.threads(group, number).items():
                    self.tally.check("screen threads", (self.command, group, name), row["threads"][number][name], count)
            if sides[0].present() or sides[-1].present():
                self.tally.check("screen new or gone", (self.command, group, "new"), row["new"], screen.is_new(group))
                self.tally.check("screen new or gone", (self.command, group, "gone"), row["gone"], screen.has_disappeared(group))

        OrderCheck(self.tally, self.command, screen, columns).check(rows, "cgroup" in self.command.split()[-1:])

    def cell(self, where, found, value, change):
        self.tally.check("screen value", where, found["value"], value)
        if change is UNKNOWN:
            self.tally.check("screen change unknown in this file", where, found["change"], None)
        else:
            self.tally.check("screen change", where, found["change"], change, abs(value or 0))


class HeadingCheck:
    def __init__(self, tally, command):
        self.tally, self.command = tally, command

    def check(self, window, heading):
        for kind, recomputed in (("heading times", heading.times()), ("heading threads", heading.threads())):
            for name, value in recomputed.items():
                found = window[name]
                # A mean in ns is printed as an integer or as a double.
                right = abs(Fraction(found) - value) < 1 if name == "rates_over_ns" else found == value
                self.tally.judge(kind, (self.command, name), right, found, value)
        accounting = heading.accounting()
        for name, value in accounting.items():
            found = window["accounting"] and window["accounting"][name]
            # ctprof uses whole ns.
            right = abs(Fraction(found) - value) <= 1 + 10**-12 * accounting["busy_ns"] if name.endswith("_ns") else found == value
            self.tally.judge("heading accounting", (self.command, name), right, found, value)
        recomputed = {f"{metric} {before} {after}": rows for (metric, before, after), rows in heading.settings().items()}
        found = {}
        for setting in window["settings"]:
            key = f"{setting['metric']} {setting['before']} {setting['after']}"
            found[key] = found.get(key, 0) + setting["rows"]
        self.tally.check("heading settings", (self.command,), found, recomputed)
