"""Tests the differences between two sides: passes the figures of all hosts to `ctprof fleet judge`, which computes the statistics.

A host's figure of a group is the median of its captures. A group that a capture does not contain counts as zero if the capture measures
the metric; a gap remains a gap.
"""

import json
import os

from .bucket import JsonLines, to_json_lines
from .database import sql_string
from .errors import FleetError
from .metrics import figure_sql
from .subcommands import run_subcommand

# Number of tested groups: the largest over all hosts, in units of the headlines' floors.
MAX_GROUPS = 400


class HostFigures:
    """Tables of the sampled hosts: `cells`, a row for each capture and group; `measured`, the number of captures per host that measure each
    metric; `family`, the tested groups: the largest of all groups, and the groups of `about`, a pair (condition, axis), which are marked
    `beyond` if they are not among the largest. `not_tested`: the number of further groups of `about`."""

    def __init__(self, table, headlines, where, about=(None, None)):
        self.table, self.headlines, self.not_tested = table, headlines, 0
        whole = ", ".join(f"{figure_sql(metric)} IS NOT NULL AS has{at}" for at, metric in enumerate(headlines))
        lists = ", ".join(f"unnest(figures[{sql_string(metric.name)}]) AS raw{at}" for at, metric in enumerate(headlines))
        values = ", ".join(f"{figure_sql(metric, value=f'raw{at}')} AS v{at}" for at, metric in enumerate(headlines))
        has = ", ".join(f"has{at}" for at in range(len(headlines)))
        self.run_sql(f"CREATE TEMP TABLE selected_captures AS SELECT host, kind, seconds, groups, group_own, figures, {whole} FROM counted "
                 f"WHERE host IN (SELECT host FROM drawn) AND {where}")
        self.run_sql(f'CREATE TEMP TABLE cells AS SELECT host, "group", own, {has}, {values} '
                 f'FROM (SELECT host, kind, seconds, {has}, unnest(groups) AS "group", unnest(group_own) AS own, {lists} FROM selected_captures)')
        counts = ", ".join(f"count(*) FILTER (has{at}) AS m{at}" for at in range(len(headlines)))
        self.run_sql(f"CREATE TEMP TABLE measured AS SELECT host, {counts} FROM selected_captures GROUP BY host")
        self.run_sql("DROP TABLE selected_captures")
        self.choose_groups(*about)

    def run_sql(self, query):
        return self.table.fetch_rows(query)

    def choose_groups(self, about, axis):
        captures = max(self.table.fetch_one("SELECT count(*) FROM counted WHERE host IN (SELECT host FROM drawn)")[0], 1)
        scores = ", ".join(f"coalesce(sum(v{at}), 0) / {captures} / {max(metric.shown_floor(), 1e-9)!r}" for at, metric in enumerate(self.headlines))
        self.groups = self.table.fetch_one('SELECT count(DISTINCT "group") FROM cells')[0]
        self.run_sql(f'CREATE TEMP TABLE scored AS SELECT "group", greatest({scores}) AS score FROM cells '
                 'GROUP BY "group" HAVING NOT coalesce(bool_and(own), false)')  # Excludes the recorder itself.
        self.run_sql(f'CREATE TEMP TABLE family AS SELECT "group", false AS beyond FROM scored ORDER BY score DESC, "group" LIMIT {MAX_GROUPS}')
        if about is not None:
            self.add_about_groups(about, axis)
        self.run_sql('DELETE FROM cells WHERE "group" NOT IN (SELECT "group" FROM family)')

    def add_about_groups(self, about, axis):
        """Adds the groups of --about that are not in the family, at most MAX_GROUPS."""
        names = [group for group, in self.run_sql('SELECT "group" FROM scored')]
        with JsonLines(to_json_lines([{"about": about, "axis": axis}] + [{"group": name} for name in names])) as request:
            os.lseek(request.file.fileno(), 0, os.SEEK_SET)
            status, answer, message = run_subcommand("match", stdin=request.file)
        if status != 0:
            raise FleetError(message or f"ctprof fleet match failed with exit status {status}")
        selected = [json.loads(line)["group"] for line in answer.splitlines()]
        missing = 'FROM scored WHERE "group" IN (SELECT unnest($1::VARCHAR[])) AND "group" NOT IN (SELECT "group" FROM family)'
        self.table.fetch_rows(f'INSERT INTO family SELECT "group", true {missing} ORDER BY score DESC, "group" LIMIT {MAX_GROUPS}', [selected])
        self.not_tested = self.table.fetch_one(f"SELECT count(*) {missing}", [selected])[0]

    def judge_input(self, baseline, candidate):
        """Yields the input of `judge`: a line for each group and headline."""
        shortest = self.table.fetch_one("SELECT min(seconds) FROM counted WHERE host IN (SELECT host FROM drawn)")[0] or 1
        for at, metric in enumerate(self.headlines):
            head = json.dumps({"metric": metric.name, "floor": metric.shown_floor(), "resolution": metric.resolution(shortest),
                               "entry": metric.entry, "adds_up": metric.adds_up}, ensure_ascii=False)[1:-1]
            for group, beyond, figures in self.table.fetch_rows(self.figures_query(at), [baseline, candidate]):
                yield f'{{"group": {group}, "beyond": {json.dumps(beyond)}, {head}, "figures": {figures}}}\n'.encode()

    def figures_query(self, at):
        """Returns a query for one headline: the figures of all hosts for each group, the baseline's first."""
        return f"""
            WITH hosts AS (SELECT host, m{at} AS m, side <> $1 AS second, nth FROM drawn JOIN measured USING (host) WHERE side IN ($1, $2)),
            of_hosts AS (SELECT host, "group", list(v{at}) FILTER (v{at} IS NOT NULL) AS there, count(*) FILTER (has{at}) AS seen
                         FROM cells GROUP BY ALL)
            SELECT to_json("group")::VARCHAR, beyond,
                   to_json(list(list_aggregate(list_concat(coalesce(there, []), list_resize([]::DOUBLE[], m - coalesce(seen, 0), 0.0)), 'median')
                                ORDER BY second, nth))::VARCHAR
            FROM family CROSS JOIN hosts LEFT JOIN of_hosts USING (host, "group")
            GROUP BY "group", beyond ORDER BY "group" """

    def judge(self, cohorts, candidate, bar, about=None, axis=None):
        """Returns the family, its rows, and the rows of the separate family of --about. `bar`: the significance level and the smallest shift."""
        head = {"alpha": bar[0], "min_shift": bar[1], "baseline": cohorts.count_drawn(cohorts.baseline),
                "candidate": cohorts.count_drawn(candidate), "about": about, "axis": axis}
        with JsonLines([json.dumps(head).encode() + b"\n"]) as request:
            request.file.writelines(self.judge_input(cohorts.baseline, candidate))
            request.file.flush()
            os.lseek(request.file.fileno(), 0, os.SEEK_SET)
            status, answer, message = run_subcommand("judge", stdin=request.file)
        if status != 0:
            raise FleetError(f"judging {cohorts.fact} {candidate}: " + (message or "ctprof fleet judge failed"))
        family, *rows = [json.loads(line) for line in answer.splitlines()]
        return family, [row for row in rows if not row.get("about")], [row for row in rows if row.pop("about", False)]
