"""`compare`: compares hosts by a fact, such as the kernel release."""

from .cohorts import Cohorts
from .significance import MAX_GROUPS, HostFigures
from .printable import Table, escape_hidden, format_count, format_number
from .query import Query
from .subcommands import parse_threshold

# Number of other differing facts that are listed.
MAX_DIFFERING_FACTS = 6
# Members of a row of `ctprof fleet judge`. Figures are medians.
ROW_KEYS = ("group", "metric", "shift", "low", "high", "p", "proven", "baseline", "candidate", "with_baseline", "with_candidate")
CSV_COLUMNS = ("baseline", "candidate", *ROW_KEYS[:7], "baseline_median", "candidate_median", "with_baseline", "with_candidate")


def run(options, output):
    options.alpha, options.min_shift = parse_threshold(options.alpha, options.min_shift)
    with Query(options) as index_query:
        known = index_query.load_metrics()
        cohorts = Cohorts(index_query, options.by, options.baseline)
        cohorts.draw_hosts()
        about = (options.about, index_query.index_dir.read_about().get("group_by"))
        figures = HostFigures(index_query.table, known.headlines, index_query.condition, about) if cohorts.candidates and known.headlines else None
        bar = (options.alpha, options.min_shift)
        results = [(side, *figures.judge(cohorts, side, bar, *about)) for side in cohorts.candidates] if figures else []
        notes = cohorts.notes() + known.notes()
        if figures and figures.groups > MAX_GROUPS:
            notes.append(f"only the {MAX_GROUPS} largest of {format_count(figures.groups, 'group')} are tested")
        about_notes = []
        if figures and figures.not_tested:
            about_notes.append(f"the {format_count(figures.not_tested, 'smallest group')} of --about are not tested")
        if options.about:
            about_notes += [f"no tested group matches --about {options.about} ({escape_hidden(cohorts.fact)} {escape_hidden(side)})"
                            for side, _, _, rows in results if not rows]
        answer = Answer(index_query, options, cohorts, results, {metric.name: metric for metric in known.headlines}, notes, about_notes)
        answer.write(output)
    return 1 if options.fail_on_proven and any(row["proven"] for _, _, *families in results for rows in families for row in rows) else 0


def sort_by_significance(rows):
    """Sorts rows by p value, or by the unadjusted p value if nothing is significant."""
    p = "p" if any(row["proven"] for row in rows) else "p_alone"
    return sorted(rows, key=lambda row: (not row["proven"], row[p], -abs(row["shift"] or 0), row["group"], row["metric"]))


class Answer:
    def __init__(self, index_query, options, cohorts, results, headlines, notes, about_notes):
        self.index_query, self.options, self.cohorts, self.headlines = index_query, options, cohorts, headlines
        self.notes, self.about_notes = notes + about_notes, about_notes
        self.results = [(side, family, sort_by_significance(rows), sort_by_significance(about)) for side, family, rows, about in results]

    def write(self, output):
        if output.format == "csv":
            output.write_csv(CSV_COLUMNS, [(self.cohorts.baseline, side, *(row[key] for key in ROW_KEYS))
                                           for side, _, rows, _ in self.results for row in rows])
            self.note_about(output)
        elif output.format == "json":
            output.write_json(self.to_json())
        else:
            self.write_text(output)

    def note_about(self, output):
        """Prints notes on standard error, because CSV contains only the rows of all groups."""
        if any(about for _, _, _, about in self.results):
            output.print_note(f"CSV does not contain the rows of --about {self.options.about}; use --format json")
        for note in self.about_notes:
            output.print_note(note)

    def to_json(self):
        sizes = self.cohorts.sizes
        return {"scope": self.index_query.scope, "by": self.cohorts.fact, "notes": self.notes,
                "baseline": {"value": self.cohorts.baseline, "hosts": sizes[self.cohorts.baseline]},
                "candidates": [{"value": side, "hosts": sizes[side], "family": family, "rows": rows,
                                **({"about": about} if self.options.about else {}), "along": self.differing_facts_to_json(side)}
                               for side, family, rows, about in self.results]}

    def differing_facts_to_json(self, side):
        return [{"fact": fact, "apart": apart, "baseline": base, "candidate": other}
                for fact, apart, base, other in self.cohorts.differing_facts(side)]

    def write_text(self, output):
        scope = self.index_query.scope
        output.write_line(self.index_query.heading(scope))
        if not self.results:
            output.write_sentence(f"nothing to compare: the only value of {escape_hidden(self.cohorts.fact)} is "
                                  f"{escape_hidden(self.cohorts.baseline)} ({format_count(self.cohorts.sizes[self.cohorts.baseline], 'host')})")
        for side, family, rows, about in self.results:
            self.write_side(output, side, family, rows, about)
        for note in self.notes:
            output.write_sentence(note)
        self.index_query.write_captures_without_host(output, scope)

    def write_side(self, output, side, family, rows, about):
        sizes, base = self.cohorts.sizes, self.cohorts.baseline
        proven = sum(row["proven"] for row in rows)
        output.write_sentence(f"{escape_hidden(self.cohorts.fact)} {escape_hidden(side)} ({format_count(sizes[side], 'host')}) "
                              f"against {escape_hidden(base)} ({format_count(sizes[base], 'host')}): "
                              f"{proven or 'none'} of {format_count(len(rows), 'row')} significant")
        if about:
            found = sum(row["proven"] for row in about)
            output.write_sentence(f"--about {escape_hidden(self.options.about)}: {found} of {format_count(len(about), 'row')} "
                                  f"{'is' if found == 1 else 'are'} significant (p is adjusted for these {format_count(len(about), 'row')} only)")
            output.write_table(self.to_table(about))
            output.write_sentence("all groups:")
        shown = rows[:self.options.limit] if self.options.limit else rows
        if shown:
            output.write_table(self.to_table(shown))
        output.write_sentence(self.significance_note(family, side, rows))
        if len(shown) < len(rows):
            output.write_sentence(f"not shown: {format_count(len(rows) - len(shown), 'more row')} (--limit)")
        self.write_differing_facts(output, side)

    def to_table(self, rows):
        table = Table(["group", "", "baseline", "candidate", "shift", "interval", "p", "hosts"], texts=2)
        for row in rows:
            metric = self.headlines[row["metric"]]
            unit = metric.shown_unit()
            candidate = ("" if row["proven"] else "~") + format_number(row["candidate"], unit)
            table.add(row["group"], metric.heading(), format_number(row["baseline"], unit), candidate,
                      *shift_and_interval(row), f"{row['p']:.2g}", f"{row['with_baseline']}+{row['with_candidate']}")
        return table

    def significance_note(self, family, side, rows):
        sides = f"{self.cohorts.count_drawn(self.cohorts.baseline)} + {self.cohorts.count_drawn(side)} hosts"
        alpha = f"{self.options.alpha:g}"
        if family["smallest_p"] > self.options.alpha:
            enough = family.get("enough_runs")
            return f"{sides} are too few for a significant difference at {alpha}" + (f"; {enough} per side are enough" if enough else "; no number of hosts is enough")
        labellings = f"all {family['labellings']}" if family["all"] else f"{family['labellings']} random"
        least = f" for a shift of {self.options.min_shift * 100:.3g}% or more" if self.options.min_shift else ""
        return (f"~: not significant with {sides} at {alpha}{least} ({labellings} labellings; p is adjusted for "
                f"{format_count(len(rows), 'row')}, the {100 * (1 - self.options.alpha):g}% intervals are not){self.hidden_rows_note(rows)}")

    def hidden_rows_note(self, rows):
        hidden = sum(row["p"] <= self.options.alpha and not row["proven"] for row in rows)
        if not hidden:
            return ""
        return (f"; {format_count(hidden, 'row')} with p of at most {self.options.alpha:g} {'is' if hidden == 1 else 'are'} not significant "
                f"only because of --min-shift {self.options.min_shift * 100:.3g}%")

    def write_differing_facts(self, output, side):
        """Writes other facts that differ between the sides and could explain a difference."""
        differing_facts = self.cohorts.differing_facts(side)
        if differing_facts:
            texts = [f"{escape_hidden(fact)} {escape_hidden(base or '-')[:40]} → {escape_hidden(other or '-')[:40]}"
                     for fact, _, base, other in differing_facts[:MAX_DIFFERING_FACTS]]
            more = f", and {len(differing_facts) - MAX_DIFFERING_FACTS} more facts" if len(differing_facts) > MAX_DIFFERING_FACTS else ""
            output.write_sentence(f"these hosts also differ in {', '.join(texts)}{more}: each of these may be the reason")
        first, second = self.cohorts.time_spans(side)
        if first[1] < second[0] or second[1] < first[0]:
            output.write_sentence(f"they were captured at different times ({first[0]} to {first[1]}, and {second[0]} to {second[1]} UTC), "
                            "which may also be the reason")


def shift_and_interval(row):
    """Formats fractions of the baseline, or of the headline's floor if the baseline is zero. `--min-shift` applies to this interval."""
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
