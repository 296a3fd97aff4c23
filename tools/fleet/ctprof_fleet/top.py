"""`top`: groups over all hosts, those first that come to most.

A group's total is the sum over hosts of each host's median; its share is of what all groups come to. The median is of all hosts that
measure the metric: one without the group has zero.
"""

from .database import text
from .metrics import sql_of
from .printable import Table, clean, count, number
from .question import Question
from .views import value_of_fact


def run(options, output):
    with Question(options) as question:
        known = question.metrics()
        metric = known.headline(options.metric) if options.metric else known.headlines[0] if known.headlines else None
        fact = question.table.fact(options.by) if options.by else None
        rows = question.table.rows(totals(question, metric, fact, options.limit)) if metric else []
        tell(question, output, metric, fact, rows, known.notes())
    return 0


def totals(question, metric, fact, limit):
    side = f"coalesce(arg_max({value_of_fact(fact)}, captured_at), '')" if fact else "''"
    return f"""
        WITH looked_at AS (SELECT host, captured_at, kind, seconds, groups, facts, figures[{text(metric.name)}] AS series,
                                  {sql_of(metric)} IS NOT NULL AS has
                           FROM counted WHERE host IS NOT NULL AND {question.where}),
        hosts AS (SELECT host, {side} AS side, count(*) FILTER (has) AS m FROM looked_at GROUP BY host HAVING m > 0),
        sizes AS (SELECT side, count(*) AS hosts FROM hosts GROUP BY side),
        cells AS (SELECT host, "group", {sql_of(metric, value='raw')} AS value
                  FROM (SELECT host, kind, seconds, unnest(groups) AS "group", unnest(series) AS raw FROM looked_at WHERE has)),
        of_hosts AS (SELECT host, "group", CASE WHEN any_value(m) = 1 THEN any_value(value) ELSE
                            list_aggregate(list_concat(list(value) FILTER (value IS NOT NULL),
                                                       list_resize([]::DOUBLE[], any_value(m) - count(*), 0.0)), 'median') END AS value,
                            any_value(side) AS side
                     FROM cells JOIN hosts USING (host) GROUP BY host, "group"),
        of_groups AS (SELECT side, "group", count(*) AS there, sum(value) AS total, list(value) AS figures FROM of_hosts GROUP BY ALL)
        SELECT side, hosts, "group", there, total, total / nullif(sum(total) OVER (PARTITION BY side), 0) AS share,
               list_aggregate(list_concat(figures, list_resize([]::DOUBLE[], hosts - there, 0.0)), 'median') AS median,
               count(*) OVER (PARTITION BY side) AS groups
        FROM of_groups JOIN sizes USING (side)
        QUALIFY {f'row_number() OVER (PARTITION BY side ORDER BY total DESC NULLS LAST, "group") <= {limit}' if limit else 'true'}
        ORDER BY hosts DESC, side, total DESC NULLS LAST, "group" """


def tell(question, output, metric, fact, rows, notes):
    if output.format == "csv":
        return output.csv(["cohort", "hosts", "group", "on_hosts", "total", "share", "median"], [row[:7] for row in rows])
    scope = question.scope
    if output.format == "json":
        return output.json({"scope": scope, "metric": metric.name if metric else None, "unit": metric.shown_unit() if metric else None,
                            "by": fact, "notes": notes, "rows": [
                                {"cohort": side if fact else None, "hosts": hosts, "group": group, "on_hosts": there, "total": total, "share": share,
                                 "median": median} for side, hosts, group, there, total, share, median, _ in rows]})
    output.line(question.heading(scope))
    for side in dict.fromkeys(row[0] for row in rows):
        tell_side(output, metric, fact, [row for row in rows if row[0] == side])
    for note in notes:
        output.sentence(note)
    question.also(output, scope)
    return None


def tell_side(output, metric, fact, rows):
    hosts, groups = rows[0][1], rows[0][7]
    if fact:
        output.sentence(f"{clean(fact)} {clean(rows[0][0]) or 'not known'}: {count(hosts, 'host')}")
    unit = metric.shown_unit()
    table = Table(["group", "hosts", metric.heading(), "share", "median of a host"])
    for _, _, group, there, total, share, median, _ in rows:
        table.add(group, there, number(total, unit), "-" if share is None else f"{share * 100:.1f} %", number(median, unit))
    output.table(table)
    if groups > len(rows):
        output.sentence(f"not shown: {count(groups - len(rows), 'more group')} (--limit)")
