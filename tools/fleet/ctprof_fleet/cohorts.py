"""The sides of a comparison: hosts by what they have in common, and what else goes along with it.

A host is of the side that its newest capture says. Sides of few hosts are left out, and of large ones so many are drawn as can be judged
in seconds: by a hash of their names, so that they are the same every time.
"""

from .database import text
from .errors import FleetError
from .printable import clean, count
from .views import value_of_fact

# A side of fewer hosts proves nothing, and what sets it apart is as likely to be the host as the fact.
FEW_HOSTS = 3
# Of a side; more make what can be proven hardly smaller, and the labellings long.
MOST_HOSTS = 1000
# Sides that are compared with the baseline, the largest.
MOST_SIDES = 8
# A fact goes along with the sides if as large a share of hosts would have to change it to be alike.
ALONG = 0.5
# Facts that nearly every host has a value of its own for say nothing.
MOST_VALUES = 50


class Cohorts:
    def __init__(self, question, asked, baseline):
        self.question, self.table = question, question.table
        self.fact = self.table.fact(asked)
        self.table.rows(f"""
            CREATE OR REPLACE TEMP TABLE side_of AS
            SELECT host, arg_max({value_of_fact(self.fact)}, captured_at) AS side, arg_max(facts, captured_at) AS facts
            FROM counted WHERE host IS NOT NULL AND {question.where} GROUP BY host""")
        self.sizes = dict(self.table.rows("SELECT side, count(*) AS hosts FROM side_of WHERE side IS NOT NULL "
                                          "GROUP BY side ORDER BY hosts DESC, side"))
        self.unknown = self.table.one("SELECT count(*) FROM side_of WHERE side IS NULL")[0]
        self.baseline = self.choose(baseline)
        others = [side for side, hosts in self.sizes.items() if side != self.baseline and hosts >= FEW_HOSTS]
        self.candidates, self.too_many = others[:MOST_SIDES], others[MOST_SIDES:]
        self.too_few = [side for side, hosts in self.sizes.items() if hosts < FEW_HOSTS and side != self.baseline]

    def choose(self, baseline):
        if not self.sizes:
            raise FleetError(f"no host in that span of time has a fact {clean(self.fact)}")
        if baseline is None:
            return next(iter(self.sizes))
        if baseline not in self.sizes:
            raise FleetError(f"no host has {clean(self.fact)} {clean(baseline)}; there are {', '.join(map(clean, list(self.sizes)[:8]))}")
        return baseline

    def drawn(self, side):
        """How many hosts of the side are judged."""
        return min(self.sizes[side], MOST_HOSTS)

    def draw(self):
        """Table `drawn`: hosts, and where they stand in their side."""
        sides = ", ".join(text(side) for side in (self.baseline, *self.candidates))
        self.table.connection.execute(f"""
            CREATE TEMP TABLE drawn AS
            SELECT side, host, nth FROM (SELECT side, host, row_number() OVER (PARTITION BY side ORDER BY md5(host), host) AS nth
                                         FROM side_of WHERE side IN ({sides})) WHERE nth <= {MOST_HOSTS}""")

    def notes(self):
        said = []
        if self.too_few:
            hosts = sum(self.sizes[side] for side in self.too_few)
            said.append(f"left out: {count(hosts, 'host')} of {count(len(self.too_few), 'side')} with fewer than {FEW_HOSTS}"
                        f" ({some(self.too_few)})")
        if self.too_many:
            said.append(f"left out: {count(len(self.too_many), 'more side')}, the largest are compared ({some(self.too_many)})")
        if self.unknown:
            said.append(f"left out: {count(self.unknown, 'host')} of which {clean(self.fact)} is not known")
        for side in (self.baseline, *self.candidates):
            if self.sizes[side] > MOST_HOSTS:
                said.append(f"of {clean(side)} {MOST_HOSTS} of {count(self.sizes[side], 'host')} are judged, drawn by their names")
        return said

    def along(self, candidate):
        """Other facts that differ between the sides, most different first: (fact, share, baseline's commonest value, candidate's)."""
        return self.table.rows(f"""
            WITH pairs AS (SELECT side, unnest(map_entries(facts)) AS entry FROM side_of WHERE side IN ($1, $2)),
            shares AS (SELECT entry.key AS fact, entry.value AS value,
                              count(*) FILTER (side = $1) / $3 AS base, count(*) FILTER (side = $2) / $4 AS other
                       FROM pairs WHERE entry.key <> $5 GROUP BY ALL)
            SELECT fact, sum(abs(base - other)) / 2 + abs(sum(base) - sum(other)) / 2 AS apart, arg_max(value, base), arg_max(value, other)
            FROM shares GROUP BY fact
            HAVING apart >= {ALONG} AND count(*) <= {MOST_VALUES} ORDER BY apart DESC, fact""",
                               [self.baseline, candidate, self.sizes[self.baseline], self.sizes[candidate], self.fact])

    def spans(self, candidate):
        """(first, last capture) of either side, to the minute."""
        return self.table.rows(f"""
            SELECT strftime(min(captured_at), '%Y-%m-%d %H:%M'), strftime(max(captured_at), '%Y-%m-%d %H:%M')
            FROM counted JOIN side_of USING (host) WHERE side IN ($1, $2) AND {self.question.where}
            GROUP BY side ORDER BY side <> $1""", [self.baseline, candidate])


def some(names):
    return ", ".join(map(clean, names[:4])) + (", ..." if len(names) > 4 else "")
