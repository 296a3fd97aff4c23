"""`rank`: hosts by a figure, the most unusual first.

How unusual a host is, is its robust z: how far it is from the median of its cohort, in units of the cohort's median absolute deviation
(times 1.4826, which makes it a standard deviation where figures are normally distributed). Where more than half of the cohort have one
and the same figure that is zero, and the mean absolute deviation (times 1.2533) is taken. Of several captures of one host the median
counts.
"""

from . import metrics as figures
from .errors import FleetError
from .printable import Table, clean, count, number
from .question import Question
from .views import value_of_fact

# Of a cohort; fewer have no median to speak of.
FEW = 3


def run(options, output):
    with Question(options) as question:
        known = question.metrics()
        asked = chosen(known, options)
        cohort = None if options.cohort == "none" else question.table.fact(options.cohort)
        make_hosts(question, asked, cohort)
        rows = question.table.rows(ranking(options.limit))
        tell(question, output, asked, cohort, rows, known.notes())
    return 0


def chosen(known, options):
    """The figures: that which was asked for, or the headlines."""
    if options.figure is not None:
        return [known.figure(options.figure, options.group)]
    if not known.headlines:
        raise FleetError("no capture has a headline to rank hosts by; name a metric: ctprof fleet sql 'FROM metrics' lists them")
    return [figures.Figure(metric.heading(), metric.shown_unit(), figures.sql_of(metric, options.group), metric) for metric in known.headlines]


def make_hosts(question, asked, cohort):
    """Tables `hosts`, a row for each host and figure, and `judged`, with z. Without a metric, what is below a headline's floor is no
    difference."""
    values = ", ".join(f"median({figure.sql}) AS v{at}, count({figure.sql}) AS n{at}" for at, figure in enumerate(asked))
    floors = [figure.metric.told_floor() if figure.metric and len(asked) > 1 else 0 for figure in asked]
    newest = f"coalesce(arg_max({value_of_fact(cohort)}, captured_at), '')" if cohort else "''"
    long = " UNION ALL ".join(f"SELECT host, cohort, {at} AS figure, v{at} AS value, n{at} AS n, captures, {floor}::DOUBLE AS floor FROM wide"
                              for at, floor in enumerate(floors))
    run_sql = question.table.connection.execute
    question.table.rows(f"""
        CREATE OR REPLACE TEMP TABLE wide AS SELECT host, {newest} AS cohort, count(*) AS captures, bool_or(kind = 'window') AS has_window, {values}
        FROM counted WHERE host IS NOT NULL AND {question.where} GROUP BY host""")
    run_sql(f"CREATE TEMP TABLE hosts AS {long}")
    run_sql("""
        CREATE TEMP TABLE cohorts AS
        WITH middle AS (SELECT cohort, figure, median(value) AS med, count(value) AS size FROM hosts GROUP BY ALL)
        SELECT cohort, figure, any_value(med) AS med, any_value(size) AS size,
               1.4826 * median(abs(value - med)) AS mad, 1.2533 * avg(abs(value - med)) AS mean_deviation
        FROM hosts JOIN middle USING (cohort, figure) GROUP BY ALL""")
    run_sql(f"""
        CREATE TEMP TABLE judged AS
        SELECT *, CASE WHEN value IS NULL OR size < {FEW} THEN NULL
                       WHEN value = med OR abs(value - med) < floor THEN 0
                       ELSE (value - med) / (CASE WHEN mad > 0 THEN mad ELSE mean_deviation END) END AS z
        FROM hosts JOIN cohorts USING (cohort, figure)""")


def ranking(limit):
    """Of each host the figure with the largest z."""
    return f"""
        SELECT host, cohort, figure, value, med, z, n FROM judged WHERE value IS NOT NULL
        QUALIFY row_number() OVER (PARTITION BY host ORDER BY abs(z) DESC NULLS LAST, figure) = 1
        ORDER BY abs(z) DESC NULLS LAST, value DESC, host {f'LIMIT {limit}' if limit else ''}"""


def without_value(question):
    """How many hosts have no figure at all, and why: only snapshots, or a gap in all of their captures."""
    return question.table.one("""
        WITH none AS (SELECT host FROM hosts GROUP BY host HAVING count(value) = 0)
        SELECT count(*), count(*) FILTER (NOT has_window) FROM none JOIN wide USING (host)""")


def tell(question, output, asked, cohort, rows, notes):
    names = [figure.metric.name if figure.metric else figure.heading for figure in asked]
    if output.format == "csv":
        return output.csv(["host", "cohort", "figure", "value", "median", "z", "captures"],
                          [(host, group or "", names[at], value, median, z, n) for host, group, at, value, median, z, n in rows])
    scope = question.scope()
    missing, only_snapshots = without_value(question)
    if output.format == "json":
        return output.json({"scope": scope, "cohort": cohort, "without_value": missing, "notes": notes, "rows": [
            {"host": host, "cohort": group if cohort else None, "figure": names[at], "unit": asked[at].unit or None, "value": value,
             "median": median, "z": z, "captures": n} for host, group, at, value, median, z, n in rows]})
    output.line(question.heading(scope))
    output.table(as_table(asked, cohort, rows))
    tell_rest(question, output, scope, missing, only_snapshots, len(rows))
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


def tell_rest(question, output, scope, missing, only_snapshots, shown):
    rest = scope["hosts"] - missing - shown
    if rest > 0:
        output.sentence(f"not shown: {count(rest, 'more host')} (--limit)")
    if missing:
        why = [f"{only_snapshots} of snapshots alone, which tell lifetimes"] if only_snapshots else []
        why += [f"{missing - only_snapshots} with a gap there"] if missing > only_snapshots else []
        output.sentence(f"no value: {count(missing, 'host')} ({', '.join(why)})")
    small = question.table.rows("SELECT DISTINCT cohort FROM cohorts WHERE size BETWEEN 1 AND $1 ORDER BY cohort", [FEW - 1])
    if small:
        named = ", ".join(clean(cohort) or "all" for cohort, in small[:5])
        output.sentence(f"no z in cohorts of fewer than {FEW} hosts: {named}{', ...' if len(small) > 5 else ''}")
    question.also(output, scope)
