"""What differs between two sides and how sure that is: the figures of all hosts go to `ctprof fleet judge`, whose statistics they are.

A host's figure of a group is the median of its captures. A group that a capture does not have counts as zero where the capture measures
the metric; a gap is a gap.
"""

import json
import os

from .bucket import Lines, as_lines
from .database import text
from .errors import FleetError
from .metrics import sql_of
from .plumbing import ask

# Groups that are judged: those that come to most over all hosts, as measured by headlines' floors.
MOST_GROUPS = 400


class Figures:
    """Tables of the hosts that were drawn: `cells`, a row for each capture and group; `measured`, for each host how many captures measure
    each metric; `family`, the groups that are judged: those of all groups that come to most, and the groups of `about`, a pair (condition, axis),
    which are `beyond` where they are not among these. `not_tested`: how many more of these there are."""

    def __init__(self, table, headlines, where, about=(None, None)):
        self.table, self.headlines, self.not_tested = table, headlines, 0
        whole = ", ".join(f"{sql_of(metric)} IS NOT NULL AS has{at}" for at, metric in enumerate(headlines))
        lists = ", ".join(f"unnest(figures[{text(metric.name)}]) AS raw{at}" for at, metric in enumerate(headlines))
        values = ", ".join(f"{sql_of(metric, value=f'raw{at}')} AS v{at}" for at, metric in enumerate(headlines))
        has = ", ".join(f"has{at}" for at in range(len(headlines)))
        self.run(f"CREATE TEMP TABLE looked_at AS SELECT host, kind, seconds, groups, group_own, figures, {whole} FROM counted "
                 f"WHERE host IN (SELECT host FROM drawn) AND {where}")
        self.run(f'CREATE TEMP TABLE cells AS SELECT host, "group", own, {has}, {values} '
                 f'FROM (SELECT host, kind, seconds, {has}, unnest(groups) AS "group", unnest(group_own) AS own, {lists} FROM looked_at)')
        counts = ", ".join(f"count(*) FILTER (has{at}) AS m{at}" for at in range(len(headlines)))
        self.run(f"CREATE TEMP TABLE measured AS SELECT host, {counts} FROM looked_at GROUP BY host")
        self.run("DROP TABLE looked_at")
        self.choose_groups(*about)

    def run(self, query):
        return self.table.rows(query)

    def choose_groups(self, about, axis):
        captures = max(self.table.one("SELECT count(*) FROM counted WHERE host IN (SELECT host FROM drawn)")[0], 1)
        scores = ", ".join(f"coalesce(sum(v{at}), 0) / {captures} / {max(metric.told_floor(), 1e-9)!r}" for at, metric in enumerate(self.headlines))
        self.groups = self.table.one('SELECT count(DISTINCT "group") FROM cells')[0]
        self.run(f'CREATE TEMP TABLE scored AS SELECT "group", greatest({scores}) AS score FROM cells '
                 'GROUP BY "group" HAVING NOT coalesce(bool_and(own), false)')  # The recorder itself is no finding.
        self.run(f'CREATE TEMP TABLE family AS SELECT "group", false AS beyond FROM scored ORDER BY score DESC, "group" LIMIT {MOST_GROUPS}')
        if about is not None:
            self.add_groups(about, axis)
        self.run('DELETE FROM cells WHERE "group" NOT IN (SELECT "group" FROM family)')

    def add_groups(self, about, axis):
        """Adds the groups of --about that are not in the family, as many as the family has at most."""
        names = [group for group, in self.run('SELECT "group" FROM scored')]
        with Lines(as_lines([{"about": about, "axis": axis}] + [{"group": name} for name in names])) as asked:
            os.lseek(asked.file.fileno(), 0, os.SEEK_SET)
            status, answer, said = ask("match", given=asked.file)
        if status != 0:
            raise FleetError(said or f"ctprof fleet match failed with exit status {status}")
        selected = [json.loads(line)["group"] for line in answer.splitlines()]
        missing = 'FROM scored WHERE "group" IN (SELECT unnest($1::VARCHAR[])) AND "group" NOT IN (SELECT "group" FROM family)'
        self.table.rows(f'INSERT INTO family SELECT "group", true {missing} ORDER BY score DESC, "group" LIMIT {MOST_GROUPS}', [selected])
        self.not_tested = self.table.one(f"SELECT count(*) {missing}", [selected])[0]

    def lines(self, baseline, candidate):
        """What `judge` reads: a line for each group and headline."""
        shortest = self.table.one("SELECT min(seconds) FROM counted WHERE host IN (SELECT host FROM drawn)")[0] or 1
        for at, metric in enumerate(self.headlines):
            head = json.dumps({"metric": metric.name, "floor": metric.told_floor(), "resolution": metric.resolution(shortest),
                               "entry": metric.entry, "adds_up": metric.adds_up}, ensure_ascii=False)[1:-1]
            for group, beyond, figures in self.table.rows(self.grid(at), [baseline, candidate]):
                yield f'{{"group": {group}, "beyond": {json.dumps(beyond)}, {head}, "figures": {figures}}}\n'.encode()

    def grid(self, at):
        """Of one headline: for each group the figures of all hosts, the baseline's first."""
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
        """(the line about the family, the rows, those of the groups of --about in a family of their own). `bar`: alpha and the smallest
        shift."""
        head = {"alpha": bar[0], "min_shift": bar[1], "baseline": cohorts.drawn(cohorts.baseline), "candidate": cohorts.drawn(candidate), "about": about, "axis": axis}
        with Lines([json.dumps(head).encode() + b"\n"]) as asked:
            asked.file.writelines(self.lines(cohorts.baseline, candidate))
            asked.file.flush()
            os.lseek(asked.file.fileno(), 0, os.SEEK_SET)
            status, answer, said = ask("judge", given=asked.file)
        if status != 0:
            raise FleetError(f"judging {cohorts.fact} {candidate}: " + (said or "ctprof fleet judge failed"))
        family, *rows = [json.loads(line) for line in answer.splitlines()]
        return family, [row for row in rows if not row.get("about")], [row for row in rows if row.pop("about", False)]
