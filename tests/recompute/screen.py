"""The first screen of windows: for each group the headlines, the counts of threads, and whether the group is new or gone.

    Screen([side]).figure("sh", headline, 0)     # (value, change) in percent of one CPU, per second, or as a level
"""

from fractions import Fraction

from accounts import BLOCKED
from figures import UNKNOWN
from sides import median

PERCENT, RATE, LEVEL = range(3)
NAMES = ("percent", "rate", "level")
SECOND = 10**9


class Headline:
    def __init__(self, metric, shown, label):
        self.metric, self.shown, self.label = metric, shown, label


def headlines(span):
    """The columns, in their order, as the file's registry has them; time blocked is the core's own."""
    found = [(30, Headline(BLOCKED, PERCENT, "%blocked"))]
    for metric in [*span.last.metrics.values(), *span.derived.values()]:
        if shown := metric.get("headline"):
            found.append((shown["order"], Headline(metric["name"], shown["shown"], shown["label"])))
    return [headline for _, headline in sorted(found, key=lambda one: one[0])]


class Screen:
    def __init__(self, sides):
        """REQUIRES: the sides' figures are per second."""
        self.sides = sides

    def figure(self, group, headline, number):
        side = self.sides[number]
        if not side.has(group, headline.metric):
            changes = [run.change_of_absent(group, headline.metric) for run in side.runs]
            known = [change for change in changes if change is not None]
            return 0, None if headline.shown != LEVEL or not known else UNKNOWN if UNKNOWN in known else median(known)
        value = side.value(group, headline.metric)
        if headline.shown == LEVEL:
            return value, side.change(group, headline.metric)
        return None if value is None else Fraction(value) * (100 if headline.shown == PERCENT else SECOND) / SECOND, None

    def threads(self, group, number):
        """Medians over the runs; those that started include those that exited again."""
        counts = []
        for run in self.sides[number].runs:
            table, rows = run.span.tables["thread"], run.rows["thread"].get(group, ())
            counts.append((sum(not table.ended[row] for row in rows), sum(table.born[row] for row in rows), sum(table.ended[row] for row in rows)))
        return dict(zip(("living", "born", "ended"), (median(list(column)) for column in zip(*counts))))

    def is_new(self, group):
        """Of one side: whether no thread of it existed when the window opened; of two: whether only the last side has it."""
        if len(self.sides) > 1:
            return not self.has_threads(0, group) and self.has_threads(-1, group)
        return all(run.span.tables["thread"].born[row] for run in self.sides[0].runs for row in run.rows["thread"].get(group, ())) and \
            not any(run.rows["gone"]["thread"].get(group) for run in self.sides[0].runs)

    def is_gone(self, group):
        if len(self.sides) > 1:
            return self.has_threads(0, group) and not self.has_threads(-1, group)
        return all(run.span.tables["thread"].ended[row] for run in self.sides[0].runs for row in run.rows["thread"].get(group, ()))

    def has_threads(self, number, group):
        return self.sides[number].threads(group) > 0


class ScreenCheck:
    def __init__(self, tally, command):
        self.tally, self.command = tally, command

    def check(self, report, sides):
        screen, columns = Screen(sides), headlines(sides[0].runs[0].span)
        shown = report["screen"]
        own = [(one.label, NAMES[one.shown]) for one in columns]
        self.tally.check("screen columns", (self.command,), [(one["label"], one["shown"]) for one in shown["headlines"]], own)
        for row in shown["rows"]:
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
                self.tally.check("screen new or gone", (self.command, group, "gone"), row["gone"], screen.is_gone(group))

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
        for kind, own in (("heading times", heading.times()), ("heading threads", heading.threads())):
            for name, value in own.items():
                found = window[name]
                # A mean in ns is printed as a whole number or as a double.
                right = abs(Fraction(found) - value) < 1 if name == "rates_over_ns" else found == value
                self.tally.judge(kind, (self.command, name), right, found, value)
        accounting = heading.accounting()
        for name, value in accounting.items():
            found = window["accounting"] and window["accounting"][name]
            # The product has whole ns.
            right = abs(Fraction(found) - value) <= 1 + 10**-12 * accounting["busy_ns"] if name.endswith("_ns") else found == value
            self.tally.judge("heading accounting", (self.command, name), right, found, value)
        own = {f"{metric} {before} {after}": rows for (metric, before, after), rows in heading.settings().items()}
        found = {}
        for setting in window["settings"]:
            key = f"{setting['metric']} {setting['before']} {setting['after']}"
            found[key] = found.get(key, 0) + setting["rows"]
        self.tally.check("heading settings", (self.command,), found, own)
