"""`rank`: ranks hosts by a figure, most unusual first.

The measure is the robust z score: the distance from the median of the host's cohort in units of the cohort's median absolute deviation
(times 1.4826, which equals the standard deviation of a normal distribution). The deviation is zero if more than half of the cohort have
the same figure; then the mean absolute deviation (times 1.2533) is used. For several captures of one host, their median counts.
"""

from . import metrics
from .database import sql_string
from .errors import FleetError, find_nearest
from .printable import Table, escape_hidden, format_count, format_number
from .query import Query
from .views import fact_sql

# Smallest cohort. The median of fewer hosts is not meaningful.
MIN_COHORT_HOSTS = 3


def run(options, output):
    with Query(options) as index_query:
        known = index_query.load_metrics()
        figures = select_figures(known, options)
        if options.group is not None:
            check_group(index_query, options.group)
        cohort = None if options.cohort == "none" else index_query.table.find_fact(options.cohort)
        create_host_tables(index_query, figures, cohort)
        rows = index_query.table.fetch_rows(ranking_query(figures, options.limit))
        write_answer(index_query, output, figures, cohort, rows, known.notes())
    return 0


def select_figures(known, options):
    """Returns the requested figure, or all headlines."""
    if options.figure is not None:
        return [known.make_figure(options.figure, options.group)]
    if not known.headlines:
        raise FleetError("no capture has a headline to rank hosts by; name a metric, which ctprof fleet sql 'FROM metrics' lists")
    return [metrics.Figure(metric.heading(), metric.shown_unit(), metrics.figure_sql(metric, options.group), metric) for metric in known.headlines]


def check_group(index_query, group):
    """Fails if no capture contains the group. A host without the group counts as zero."""
    from_counted = f"FROM counted WHERE host IS NOT NULL AND {index_query.condition}"
    if index_query.table.fetch_one(f"SELECT count(*) {from_counted} AND list_contains(groups, {sql_string(group)})")[0]:
        return
    there = [name for name, in index_query.table.fetch_rows(f'SELECT DISTINCT unnest(groups) AS "group" {from_counted} ORDER BY "group"')]
    if there:
        nearest = find_nearest(group, there)
        raise FleetError(f"no capture has a group '{escape_hidden(group)}'" + (f"; did you mean '{escape_hidden(nearest)}'?" if nearest else
                                                                       "; ctprof fleet top lists the groups"))


def create_host_tables(index_query, figures, cohort):
    """Creates the tables `wide`, one row per host with its figures v0, v1, ..., and `cohorts`, with the inputs of z scores. Figures are columns:
    as separate rows, those of ten thousand hosts took as long as everything else together."""
    scope = index_query.scope
    middle_of = "median" if scope["captures"] > scope["hosts"] else "any_value"  # Equal for one capture, and faster.
    values = ", ".join(f"{middle_of}({figure.sql}) AS v{at}, count({figure.sql}) AS n{at}" for at, figure in enumerate(figures))
    newest = f"coalesce(arg_max({fact_sql(cohort)}, captured_at), '')" if cohort else "''"
    index_query.table.fetch_rows(f"""
        CREATE OR REPLACE TEMP TABLE wide AS SELECT host, {newest} AS cohort, bool_or(kind = 'window') AS has_window, {values}
        FROM counted WHERE host IS NOT NULL AND {index_query.condition} GROUP BY host""")
    middle = ", ".join(f"median(v{at}) AS med{at}, count(v{at}) AS size{at}" for at in range(len(figures)))
    spread = ", ".join(f"any_value(med{at}) AS med{at}, any_value(size{at}) AS size{at}, 1.4826 * median(abs(v{at} - med{at})) AS mad{at}, "
                       f"1.2533 * avg(abs(v{at} - med{at})) AS mean_deviation{at}" for at in range(len(figures)))
    index_query.table.connection.execute(f"""
        CREATE TEMP TABLE cohorts AS
        WITH middle AS (SELECT cohort, {middle} FROM wide GROUP BY cohort)
        SELECT cohort, {spread} FROM wide JOIN middle USING (cohort) GROUP BY cohort""")


def z_score_sql(at, floor):
    """Returns SQL for the z score. A difference below `floor` counts as zero."""
    apart = f"v{at} - med{at}"
    return f"""CASE WHEN v{at} IS NULL OR size{at} < {MIN_COHORT_HOSTS} THEN NULL WHEN v{at} = med{at} OR abs({apart}) < {floor!r} THEN 0
                    ELSE ({apart}) / (CASE WHEN mad{at} > 0 THEN mad{at} ELSE mean_deviation{at} END) END::DOUBLE"""


def ranking_query(figures, limit):
    """Returns a query for each host's figure with the largest z score, the first of equals; without z scores, the first that exists."""
    floors = [figure.metric.shown_floor() if figure.metric and len(figures) > 1 else 0 for figure in figures]
    lists = {"z": [z_score_sql(at, floor) for at, floor in enumerate(floors)]}
    lists |= {name: [f"{name}{at}" for at in range(len(figures))] for name in ("v", "med", "n")}
    made = ", ".join(f"[{', '.join(items)}] AS {name}" for name, items in lists.items())
    return f"""
        WITH judged AS (SELECT host, cohort, {made} FROM wide JOIN cohorts USING (cohort)),
        sizes AS (SELECT *, list_transform(z, lambda one: abs(one)) AS size FROM judged),
        chosen AS (SELECT *, CASE WHEN list_max(size) IS NULL THEN list_position(list_transform(v, lambda one: one IS NOT NULL), true)
                                  ELSE list_position(size, list_max(size)) END AS nth FROM sizes)
        SELECT host, cohort, nth - 1, v[nth] AS value, med[nth], z[nth], n[nth] FROM chosen WHERE nth > 0
        ORDER BY size[nth] DESC NULLS LAST, value DESC, host {f'LIMIT {limit}' if limit else ''}"""


def count_hosts_without_value(index_query, figures):
    """Returns how many hosts have no figure, and how many of these have only snapshots."""
    none = " AND ".join(f"v{at} IS NULL" for at in range(len(figures)))
    return index_query.table.fetch_one(f"SELECT count(*), count(*) FILTER (NOT has_window) FROM wide WHERE {none}")


def write_answer(index_query, output, figures, cohort, rows, notes):
    names = [figure.metric.name if figure.metric else figure.heading for figure in figures]
    if output.format == "csv":
        return output.write_csv(["host", "cohort", "figure", "value", "median", "z", "captures"],
                          [(host, group or "", names[at], value, median, z, n) for host, group, at, value, median, z, n in rows])
    scope = index_query.scope
    missing, only_snapshots = count_hosts_without_value(index_query, figures)
    if output.format == "json":
        return output.write_json({"scope": scope, "cohort": cohort, "without_value": missing, "notes": notes, "rows": [
            {"host": host, "cohort": group if cohort else None, "figure": names[at], "unit": figures[at].unit or None, "value": value,
             "median": median, "z": z, "captures": n} for host, group, at, value, median, z, n in rows]})
    output.write_line(index_query.heading(scope))
    output.write_table(to_table(figures, cohort, rows))
    write_notes(index_query, output, figures, scope, (missing, only_snapshots), len(rows))
    for note in notes:
        output.write_sentence(note)
    return None


def to_table(figures, cohort, rows):
    several = len(figures) > 1
    headings = ["host", *(["unusual in"] if several else []), *(["cohort"] if cohort else []), "figure" if several else figures[0].heading]
    table = Table([*map(escape_hidden, headings), "median", "z", "captures"], texts=1 + several + bool(cohort))
    for host, group, at, value, median, z, n in rows:
        unit = figures[at].unit
        table.add(host, *([figures[at].heading] if several else []), *([group] if cohort else []),
                  format_number(value, unit), format_number(median, unit),
                  "-" if z is None else f"{z:+.1f}", n)
    return table


def write_notes(index_query, output, figures, scope, without, shown):
    missing, only_snapshots = without
    rest = scope["hosts"] - missing - shown
    if rest > 0:
        output.write_sentence(f"not shown: {format_count(rest, 'more host')} (--limit)")
    if missing:
        why = [f"{only_snapshots} with only snapshots, which contain lifetime totals"] if only_snapshots else []
        why += [f"{missing - only_snapshots} with a gap"] if missing > only_snapshots else []
        output.write_sentence(f"no value: {format_count(missing, 'host')} ({', '.join(why)})")
    is_small = " OR ".join(f"size{at} BETWEEN 1 AND {MIN_COHORT_HOSTS - 1}" for at in range(len(figures)))
    small = index_query.table.fetch_rows(f"SELECT cohort FROM cohorts WHERE {is_small} ORDER BY cohort")
    if small:
        named = ", ".join(escape_hidden(cohort) or "all" for cohort, in small[:5])
        output.write_sentence(f"no z score in cohorts of fewer than {MIN_COHORT_HOSTS} hosts: {named}{', ...' if len(small) > 5 else ''}")
    index_query.write_captures_without_host(output, scope)
