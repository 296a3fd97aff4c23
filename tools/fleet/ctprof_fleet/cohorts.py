"""The sides of a comparison: hosts with the same value of a fact, and other facts that differ between the sides.

The newest capture of a host determines its side. Sides with few hosts are excluded. Large sides are sampled, so that the tests take
seconds; the sample depends on a hash of the host names and is therefore always the same.
"""

from .database import sql_string
from .errors import FleetError
from .printable import escape_hidden, format_count
from .views import fact_sql

# A smaller side cannot give a significant result, and its hosts may differ for other reasons than the fact.
MIN_HOSTS = 3
# Largest sample of a side. More hosts hardly improve the sensitivity, but make the permutation test slow.
MAX_HOSTS = 1000
# Number of sides that are compared with the baseline: the largest ones.
MAX_SIDES = 8
# A fact differs between the sides if this share of hosts would have to change it to make them equal.
MIN_DIFFERENCE = 0.5
# Facts with more values are ignored, because nearly every host has its own value.
MAX_VALUES = 50


class Cohorts:
    def __init__(self, index_query, fact, baseline):
        self.index_query, self.table = index_query, index_query.table
        self.fact = self.table.find_fact(fact)
        self.table.fetch_rows(f"""
            CREATE OR REPLACE TEMP TABLE side_of AS
            SELECT host, arg_max({fact_sql(self.fact)}, captured_at) AS side, arg_max(facts, captured_at) AS facts
            FROM counted WHERE host IS NOT NULL AND {index_query.condition} GROUP BY host""")
        self.sizes = dict(self.table.fetch_rows("SELECT side, count(*) AS hosts FROM side_of WHERE side IS NOT NULL "
                                          "GROUP BY side ORDER BY hosts DESC, side"))
        self.unknown = self.table.fetch_one("SELECT count(*) FROM side_of WHERE side IS NULL")[0]
        self.baseline = self.choose_baseline(baseline)
        others = [side for side, hosts in self.sizes.items() if side != self.baseline and hosts >= MIN_HOSTS]
        self.candidates, self.extra_sides = others[:MAX_SIDES], others[MAX_SIDES:]
        self.small_sides = [side for side, hosts in self.sizes.items() if hosts < MIN_HOSTS and side != self.baseline]

    def choose_baseline(self, baseline):
        if not self.sizes:
            raise FleetError(f"no host has a fact {escape_hidden(self.fact)} in the selected time")
        if baseline is None:
            return next(iter(self.sizes))
        if baseline not in self.sizes:
            raise FleetError(f"no host has {escape_hidden(self.fact)} {escape_hidden(baseline)}; "
                             f"choose {', '.join(map(escape_hidden, list(self.sizes)[:8]))}")
        return baseline

    def count_drawn(self, side):
        """Returns how many hosts of the side are tested."""
        return min(self.sizes[side], MAX_HOSTS)

    def draw_hosts(self):
        """Creates the table `drawn`: the sampled hosts and their position in their side."""
        sides = ", ".join(sql_string(side) for side in (self.baseline, *self.candidates))
        self.table.connection.execute(f"""
            CREATE TEMP TABLE drawn AS
            SELECT side, host, nth FROM (SELECT side, host, row_number() OVER (PARTITION BY side ORDER BY md5(host), host) AS nth
                                         FROM side_of WHERE side IN ({sides})) WHERE nth <= {MAX_HOSTS}""")

    def notes(self):
        notes = []
        if self.small_sides:
            hosts = sum(self.sizes[side] for side in self.small_sides)
            notes.append(f"left out: {format_count(hosts, 'host')} of {format_count(len(self.small_sides), 'side')} with fewer than {MIN_HOSTS}"
                         f" ({list_some(self.small_sides)})")
        if self.extra_sides:
            notes.append(f"left out: {format_count(len(self.extra_sides), 'more side')}, only the largest are compared "
                         f"({list_some(self.extra_sides)})")
        if self.unknown:
            notes.append(f"left out: {format_count(self.unknown, 'host')} without {escape_hidden(self.fact)}")
        for side in (self.baseline, *self.candidates):
            if self.sizes[side] > MAX_HOSTS:
                notes.append(f"only a sample of {MAX_HOSTS} of {format_count(self.sizes[side], 'host')} with {escape_hidden(side)} is tested")
        return notes

    def differing_facts(self, candidate):
        """Returns other facts that differ between the sides, largest difference first: (fact, share, baseline's most common value, candidate's)."""
        return self.table.fetch_rows(f"""
            WITH pairs AS (SELECT side, unnest(map_entries(facts)) AS entry FROM side_of WHERE side IN ($1, $2)),
            shares AS (SELECT entry.key AS fact, entry.value AS value,
                              count(*) FILTER (side = $1) / $3 AS base, count(*) FILTER (side = $2) / $4 AS other
                       FROM pairs WHERE entry.key <> $5 GROUP BY ALL)
            SELECT fact, sum(abs(base - other)) / 2 + abs(sum(base) - sum(other)) / 2 AS apart, arg_max(value, base), arg_max(value, other)
            FROM shares GROUP BY fact
            HAVING apart >= {MIN_DIFFERENCE} AND count(*) <= {MAX_VALUES} ORDER BY apart DESC, fact""",
                               [self.baseline, candidate, self.sizes[self.baseline], self.sizes[candidate], self.fact])

    def time_spans(self, candidate):
        """Returns the times of the first and last capture of each side, to the minute."""
        return self.table.fetch_rows(f"""
            SELECT strftime(min(captured_at), '%Y-%m-%d %H:%M'), strftime(max(captured_at), '%Y-%m-%d %H:%M')
            FROM counted JOIN side_of USING (host) WHERE side IN ($1, $2) AND {self.index_query.condition}
            GROUP BY side ORDER BY side <> $1""", [self.baseline, candidate])


def list_some(names):
    return ", ".join(map(escape_hidden, names[:4])) + (", ..." if len(names) > 4 else "")
