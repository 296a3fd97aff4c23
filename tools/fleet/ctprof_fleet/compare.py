"""`compare`: hosts of one kernel, or of another fact, with those of another."""

from .cohorts import Cohorts
from .errors import FleetError
from .evidence import MOST_GROUPS, Figures
from .printable import Table, clean, count, number
from .question import Question

# Facts that go along with the sides, and are named.
MOST_ALONG = 6
# What a row of `ctprof fleet judge` says; the figures are medians.
OF_ROWS = ("group", "metric", "shift", "low", "high", "p", "proven", "baseline", "candidate", "with_baseline", "with_candidate")
CSV = ("baseline", "candidate", *OF_ROWS[:7], "baseline_median", "candidate_median", "with_baseline", "with_candidate")


def run(options, output):
    if not 0 < options.alpha <= 0.5:
        raise FleetError("compare: --alpha is above 0 and at most 0.5")
    with Question(options) as question:
        known = question.metrics()
        cohorts = Cohorts(question, options.by, options.baseline)
        cohorts.draw()
        about = (options.about, question.place.about().get("group_by"))
        figures = Figures(question.table, known.headlines, question.where, about) if cohorts.candidates and known.headlines else None
        judged = [(side, *figures.judge(cohorts, side, (options.alpha, options.min_shift), *about)) for side in cohorts.candidates] if figures else []
        notes = cohorts.notes() + known.notes()
        if figures and figures.groups > MOST_GROUPS:
            notes.append(f"of {count(figures.groups, 'group')} the {MOST_GROUPS} that come to most are judged")
        about_notes = []
        if figures and figures.not_tested:
            about_notes.append(f"{count(figures.not_tested, 'group')} of --about that come to least are not tested")
        if options.about:
            about_notes += [f"no judged group matches --about {options.about} ({clean(cohorts.fact)} {clean(side)})" for side, _, _, rows in judged if not rows]
        answer = Answer(question, options, cohorts, judged, {metric.name: metric for metric in known.headlines}, notes, about_notes)
        answer.tell(output)
    return 1 if options.fail_on_proven and any(row["proven"] for _, _, *families in judged for rows in families for row in rows) else 0


def by_evidence(rows):
    """Where nothing is proven, by the p that a row has by itself."""
    p = "p" if any(row["proven"] for row in rows) else "p_alone"
    return sorted(rows, key=lambda row: (not row["proven"], row[p], -abs(row["shift"] or 0), row["group"], row["metric"]))


class Answer:
    def __init__(self, question, options, cohorts, judged, headlines, notes, about_notes):
        self.question, self.options, self.cohorts, self.headlines = question, options, cohorts, headlines
        self.notes, self.about_notes = notes + about_notes, about_notes
        self.judged = [(side, family, by_evidence(rows), by_evidence(about)) for side, family, rows, about in judged]

    def tell(self, output):
        if output.format == "csv":
            output.csv(CSV, [(self.cohorts.baseline, side, *(row[key] for key in OF_ROWS)) for side, _, rows, _ in self.judged for row in rows])
            self.note_about(output)
        elif output.format == "json":
            output.json(self.as_json())
        else:
            self.tell_people(output)

    def note_about(self, output):
        """CSV has no notes, and only the rows of all groups."""
        if any(about for _, _, _, about in self.judged):
            output.note(f"CSV does not contain the rows of --about {self.options.about}; use --format json")
        for note in self.about_notes:
            output.note(note)

    def as_json(self):
        sizes = self.cohorts.sizes
        return {"scope": self.question.scope, "by": self.cohorts.fact, "notes": self.notes,
                "baseline": {"value": self.cohorts.baseline, "hosts": sizes[self.cohorts.baseline]},
                "candidates": [{"value": side, "hosts": sizes[side], "family": family, "rows": rows,
                                **({"about": about} if self.options.about else {}), "along": self.along_as_json(side)}
                               for side, family, rows, about in self.judged]}

    def along_as_json(self, side):
        return [{"fact": fact, "apart": apart, "baseline": base, "candidate": other} for fact, apart, base, other in self.cohorts.along(side)]

    def tell_people(self, output):
        scope = self.question.scope
        output.line(self.question.heading(scope))
        if not self.judged:
            output.sentence(f"nothing to compare: of {clean(self.cohorts.fact)} there is {clean(self.cohorts.baseline)} alone "
                            f"({count(self.cohorts.sizes[self.cohorts.baseline], 'host')})")
        for side, family, rows, about in self.judged:
            self.tell_side(output, side, family, rows, about)
        for note in self.notes:
            output.sentence(note)
        self.question.also(output, scope)

    def tell_side(self, output, side, family, rows, about):
        sizes, base = self.cohorts.sizes, self.cohorts.baseline
        proven = sum(row["proven"] for row in rows)
        output.sentence(f"{clean(self.cohorts.fact)} {clean(side)} ({count(sizes[side], 'host')}) against {clean(base)} "
                        f"({count(sizes[base], 'host')}): {proven or 'nothing'} proven of {count(len(rows), 'row')}")
        if about:
            found = sum(row["proven"] for row in about)
            output.sentence(f"--about {clean(self.options.about)}: {found} of {count(len(about), 'row')} {'is' if found == 1 else 'are'} significant "
                            f"(p is adjusted for these {count(len(about), 'row')} only)")
            output.table(self.as_table(about))
            output.sentence("all groups:")
        shown = rows[:self.options.limit] if self.options.limit else rows
        if shown:
            output.table(self.as_table(shown))
        output.sentence(self.how_sure(family, side, len(rows)))
        if len(shown) < len(rows):
            output.sentence(f"not shown: {count(len(rows) - len(shown), 'more row')} (--limit)")
        self.tell_along(output, side)

    def as_table(self, rows):
        table = Table(["group", "", "baseline", "candidate", "shift", "interval", "p", "hosts"], texts=2)
        for row in rows:
            metric = self.headlines[row["metric"]]
            unit = metric.shown_unit()
            table.add(row["group"], metric.heading(), number(row["baseline"], unit), ("" if row["proven"] else "~") + number(row["candidate"], unit),
                      *shift_and_interval(row), f"{row['p']:.2g}", f"{row['with_baseline']}+{row['with_candidate']}")
        return table

    def how_sure(self, family, side, rows):
        sides = f"{self.cohorts.drawn(self.cohorts.baseline)} + {self.cohorts.drawn(side)} hosts"
        alpha = f"{self.options.alpha:g}"
        if family["smallest_p"] > self.options.alpha:
            enough = family.get("enough_runs")
            return f"{sides} cannot prove anything at {alpha}" + (f"; {enough} a side would" if enough else "; no number of hosts could")
        labellings = f"all {family['labellings']}" if family["all"] else f"{family['labellings']} random"
        least = f" to shift by {self.options.min_shift * 100:.3g}% or more" if self.options.min_shift else ""
        return (f"~: not proven by {sides} at {alpha}{least} ({labellings} labellings; p is adjusted for "
                f"{count(rows, 'row')}, intervals are each row's own)")

    def tell_along(self, output, side):
        """What else could be the reason."""
        along = self.cohorts.along(side)
        if along:
            said = [f"{clean(fact)} {clean(base or '-')[:40]} → {clean(other or '-')[:40]}" for fact, _, base, other in along[:MOST_ALONG]]
            more = f", and {len(along) - MOST_ALONG} more facts" if len(along) > MOST_ALONG else ""
            output.sentence(f"these hosts also differ in {', '.join(said)}{more}: any of it may be the reason")
        first, second = self.cohorts.spans(side)
        if first[1] < second[0] or second[1] < first[0]:
            output.sentence(f"they were captured at different times ({first[0]} to {first[1]}, and {second[0]} to {second[1]} UTC), "
                            "which may be the reason, too")


def shift_and_interval(row):
    """As fractions of the baseline; where that is zero, of the floor of the headline. `--min-shift` applies to this interval."""
    without_floor = row["without_floor"]
    shown = row if without_floor["shift"] is None else without_floor
    return shift(shown["shift"]), interval(shown)


def shift(value):
    if value is None:
        return "-"
    return f"x{1 + value:.3g}" if value >= 9 else f"{signed(value)}%"


def signed(fraction):
    return f"{fraction * 100:+.0f}" if abs(fraction) >= 0.0995 else f"{fraction * 100:+.1f}"


def interval(row):
    if row["low"] is None or row["high"] is None:
        return ""
    return f"{signed(row['low'])} to {signed(row['high'])}"
