"""`top`: ranks groups over all hosts by their totals.

The total of a group is the sum of the hosts' medians; its share is the fraction of the totals of all groups. The median is over all hosts
that measure the metric; a host without the group counts as zero.
"""

from .database import sql_string
from .metrics import figure_sql
from .printable import Table, escape_hidden, format_count, format_number
from .query import Query
from .views import fact_sql


def run(options, output):
    with Query(options) as index_query:
        known = index_query.load_metrics()
        metric = known.find_headline(options.metric) if options.metric else known.headlines[0] if known.headlines else None
        fact = index_query.table.find_fact(options.by) if options.by else None
        rows = index_query.table.fetch_rows(totals_query(index_query, metric, fact, options.limit)) if metric else []
        write_answer(index_query, output, metric, fact, rows, known.notes())
    return 0


def totals_query(index_query, metric, fact, limit):
    side = f"coalesce(arg_max({fact_sql(fact)}, captured_at), '')" if fact else "''"
    return f"""
        WITH selected_captures AS (SELECT host, captured_at, kind, seconds, groups, facts, figures[{sql_string(metric.name)}] AS series,
                                  {figure_sql(metric)} IS NOT NULL AS has
                           FROM counted WHERE host IS NOT NULL AND {index_query.condition}),
        hosts AS (SELECT host, {side} AS side, count(*) FILTER (has) AS m FROM selected_captures GROUP BY host HAVING m > 0),
        sizes AS (SELECT side, count(*) AS hosts FROM hosts GROUP BY side),
        cells AS (SELECT host, "group", {figure_sql(metric, value='raw')} AS value
                  FROM (SELECT host, kind, seconds, unnest(groups) AS "group", unnest(series) AS raw FROM selected_captures WHERE has)),
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


def write_answer(index_query, output, metric, fact, rows, notes):
    if output.format == "csv":
        return output.write_csv(["cohort", "hosts", "group", "on_hosts", "total", "share", "median"], [row[:7] for row in rows])
    scope = index_query.scope
    if output.format == "json":
        return output.write_json({"scope": scope, "metric": metric.name if metric else None, "unit": metric.shown_unit() if metric else None,
                            "by": fact, "notes": notes, "rows": [
                                {"cohort": side if fact else None, "hosts": hosts, "group": group, "on_hosts": there, "total": total, "share": share,
                                 "median": median} for side, hosts, group, there, total, share, median, _ in rows]})
    output.write_line(index_query.heading(scope))
    for side in dict.fromkeys(row[0] for row in rows):
        write_side(output, metric, fact, [row for row in rows if row[0] == side])
    for note in notes:
        output.write_sentence(note)
    index_query.write_captures_without_host(output, scope)
    return None


def write_side(output, metric, fact, rows):
    hosts, groups = rows[0][1], rows[0][7]
    if fact:
        output.write_sentence(f"{escape_hidden(fact)} {escape_hidden(rows[0][0]) or 'unknown'}: {format_count(hosts, 'host')}")
    unit = metric.shown_unit()
    table = Table(["group", "hosts", metric.heading(), "share", "median of a host"])
    for _, _, group, there, total, share, median, _ in rows:
        table.add(group, there, format_number(total, unit), "-" if share is None else f"{share * 100:.1f} %", format_number(median, unit))
    output.write_table(table)
    if groups > len(rows):
        output.write_sentence(f"not shown: {format_count(groups - len(rows), 'more group')} (--limit)")
