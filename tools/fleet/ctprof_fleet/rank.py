"""`rank`: hosts by a figure, the most unusual first.

How unusual a host is, is its robust z: how far it is from the median of its cohort, in units of the cohort's median absolute deviation
(times 1.4826, which makes it a standard deviation where figures are normally distributed). Where more than half of the cohort have one
and the same figure that is zero, and the mean absolute deviation (times 1.2533) is taken. Of several captures of one host the median
counts.
"""

from . import metrics as figures
from .database import text
from .errors import FleetError, nearest
from .printable import Table, clean, count, number
from .question import Question
from .views import value_of_fact

# Of a cohort; fewer have no median to speak of.
FEW = 3


def run(options, output):
    with Question(options) as question:
        known = question.metrics()
        asked = chosen(known, options)
        if options.group is not None:
            check_group(question, options.group)
        cohort = None if options.cohort == "none" else question.table.fact(options.cohort)
        make_hosts(question, asked, cohort)
        rows = question.table.rows(ranking(asked, options.limit))
        tell(question, output, asked, cohort, rows, known.notes())
    return 0


def chosen(known, options):
    """The figures: that which was asked for, or the headlines."""
    if options.figure is not None:
        return [known.figure(options.figure, options.group)]
    if not known.headlines:
        raise FleetError("no capture has a headline to rank hosts by; name a metric: ctprof fleet sql 'FROM metrics' lists them")
    return [figures.Figure(metric.heading(), metric.shown_unit(), figures.sql_of(metric, options.group), metric) for metric in known.headlines]


def check_group(question, group):
    """A group that a host does not have is zero there; one that none has is no question. `show` calls a pattern by its only member's name."""
    of_question = f"FROM counted WHERE host IS NOT NULL AND {question.where}"
    if question.table.one(f"SELECT count(*) {of_question} AND list_contains(groups, {text(group)})")[0]:
        return
    there = [name for name, in question.table.rows(f'SELECT DISTINCT unnest(groups) AS "group" {of_question} ORDER BY "group"')]
    if there:
        near = nearest(group, there)
        raise FleetError(f"no capture has a group '{clean(group)}'" + (f"; did you mean '{clean(near)}'?" if near else
                                                                       "; ctprof fleet top lists those that there are"))


def make_hosts(question, asked, cohort):
    """Tables `wide`, a row for each host with its figures v0, v1, ..., and `cohorts`, with what z is made of. Figures stay side by side: as
    rows of their own, those of ten thousand hosts took as long as all the rest."""
    scope = question.scope
    middle_of = "median" if scope["captures"] > scope["hosts"] else "any_value"  # The same of one capture, and quicker.
    values = ", ".join(f"{middle_of}({figure.sql}) AS v{at}, count({figure.sql}) AS n{at}" for at, figure in enumerate(asked))
    newest = f"coalesce(arg_max({value_of_fact(cohort)}, captured_at), '')" if cohort else "''"
    question.table.rows(f"""
        CREATE OR REPLACE TEMP TABLE wide AS SELECT host, {newest} AS cohort, bool_or(kind = 'window') AS has_window, {values}
        FROM counted WHERE host IS NOT NULL AND {question.where} GROUP BY host""")
    middle = ", ".join(f"median(v{at}) AS med{at}, count(v{at}) AS size{at}" for at in range(len(asked)))
    spread = ", ".join(f"any_value(med{at}) AS med{at}, any_value(size{at}) AS size{at}, 1.4826 * median(abs(v{at} - med{at})) AS mad{at}, "
                       f"1.2533 * avg(abs(v{at} - med{at})) AS mean_deviation{at}" for at in range(len(asked)))
    question.table.connection.execute(f"""
        CREATE TEMP TABLE cohorts AS
        WITH middle AS (SELECT cohort, {middle} FROM wide GROUP BY cohort)
        SELECT cohort, {spread} FROM wide JOIN middle USING (cohort) GROUP BY cohort""")


def z_of(at, floor):
    """Without a metric, what is below a headline's floor is no difference."""
    apart = f"v{at} - med{at}"
    return f"""CASE WHEN v{at} IS NULL OR size{at} < {FEW} THEN NULL WHEN v{at} = med{at} OR abs({apart}) < {floor!r} THEN 0
                    ELSE ({apart}) / (CASE WHEN mad{at} > 0 THEN mad{at} ELSE mean_deviation{at} END) END::DOUBLE"""


def ranking(asked, limit):
    """Of each host the figure with the largest z, and of equals the first; without any z, the first that there is."""
    floors = [figure.metric.told_floor() if figure.metric and len(asked) > 1 else 0 for figure in asked]
    lists = {"z": [z_of(at, floor) for at, floor in enumerate(floors)]}
    lists |= {name: [f"{name}{at}" for at in range(len(asked))] for name in ("v", "med", "n")}
    made = ", ".join(f"[{', '.join(items)}] AS {name}" for name, items in lists.items())
    return f"""
        WITH judged AS (SELECT host, cohort, {made} FROM wide JOIN cohorts USING (cohort)),
        sizes AS (SELECT *, list_transform(z, lambda one: abs(one)) AS size FROM judged),
        chosen AS (SELECT *, CASE WHEN list_max(size) IS NULL THEN list_position(list_transform(v, lambda one: one IS NOT NULL), true)
                                  ELSE list_position(size, list_max(size)) END AS nth FROM sizes)
        SELECT host, cohort, nth - 1, v[nth] AS value, med[nth], z[nth], n[nth] FROM chosen WHERE nth > 0
        ORDER BY size[nth] DESC NULLS LAST, value DESC, host {f'LIMIT {limit}' if limit else ''}"""


def without_value(question, asked):
    """How many hosts have no figure at all, and why: only snapshots, or a gap in all of their captures."""
    none = " AND ".join(f"v{at} IS NULL" for at in range(len(asked)))
    return question.table.one(f"SELECT count(*), count(*) FILTER (NOT has_window) FROM wide WHERE {none}")


def tell(question, output, asked, cohort, rows, notes):
    names = [figure.metric.name if figure.metric else figure.heading for figure in asked]
    if output.format == "csv":
        return output.csv(["host", "cohort", "figure", "value", "median", "z", "captures"],
                          [(host, group or "", names[at], value, median, z, n) for host, group, at, value, median, z, n in rows])
    scope = question.scope
    missing, only_snapshots = without_value(question, asked)
    if output.format == "json":
        return output.json({"scope": scope, "cohort": cohort, "without_value": missing, "notes": notes, "rows": [
            {"host": host, "cohort": group if cohort else None, "figure": names[at], "unit": asked[at].unit or None, "value": value,
             "median": median, "z": z, "captures": n} for host, group, at, value, median, z, n in rows]})
    output.line(question.heading(scope))
    output.table(as_table(asked, cohort, rows))
    tell_rest(question, output, asked, scope, (missing, only_snapshots), len(rows))
    for note in notes:
        output.sentence(note)
    return None


def as_table(asked, cohort, rows):
    several = len(asked) > 1
    headings = ["host", *(["unusual in"] if several else []), *(["cohort"] if cohort else []), "figure" if several else asked[0].heading]
    table = Table([*map(clean, headings), "median", "z", "captures"], texts=1 + several + bool(cohort))
    for host, group, at, value, median, z, n in rows:
        unit = asked[at].unit
        table.add(host, *([asked[at].heading] if several else []), *([group] if cohort else []), number(value, unit), number(median, unit),
                  "-" if z is None else f"{z:+.1f}", n)
    return table


def tell_rest(question, output, asked, scope, without, shown):
    missing, only_snapshots = without
    rest = scope["hosts"] - missing - shown
    if rest > 0:
        output.sentence(f"not shown: {count(rest, 'more host')} (--limit)")
    if missing:
        why = [f"{only_snapshots} of snapshots alone, which tell lifetimes"] if only_snapshots else []
        why += [f"{missing - only_snapshots} with a gap there"] if missing > only_snapshots else []
        output.sentence(f"no value: {count(missing, 'host')} ({', '.join(why)})")
    is_small = " OR ".join(f"size{at} BETWEEN 1 AND {FEW - 1}" for at in range(len(asked)))
    small = question.table.rows(f"SELECT cohort FROM cohorts WHERE {is_small} ORDER BY cohort")
    if small:
        named = ", ".join(clean(cohort) or "all" for cohort, in small[:5])
        output.sentence(f"no z in cohorts of fewer than {FEW} hosts: {named}{', ...' if len(small) > 5 else ''}")
    question.also(output, scope)
