"""The table as questions see it: views over the buckets, without what is damaged or there twice.

    files      a row for each file: file, size, modified_at, captures, error, told
    captures   a row for each capture that counts: who, when, how long; its facts and totals as maps
    facts      (captures x facts)    fact, value
    totals     (captures x metrics)  metric, value, has, rows: of how many rows it is the reduction
    groups     (captures x groups x headline metrics)  group, threads, metric, value
    metrics    a row for each metric that a capture defines
    left_out   files and captures that do not count, and why

What is left out follows from the table alone, at the time of the question, so it does not depend on who indexed what first: of
captures of one host, boot, moment and span the first by file name stays.
"""

import functools

from . import bucket
from .database import connect, duckdb_module, moment, read_parquet, text
from .errors import FleetError, nearest
from .printable import clean

COMMON = "file, capture, host, kind, captured_at, seconds"
COUNTS = "(file, capture) NOT IN (SELECT (file, capture) FROM twice)"
ALL_COUNT = "true"

# `counted` is what our own questions are about: totals as they are stored, in the order of the registry's names.
VIEWS = {
    "files": f"SELECT file, size, {moment('mtime_ns')} AS modified_at, error, told FROM stored WHERE row = 'file'",
    "known": "SELECT registry, any_value(names) AS names FROM stored WHERE row = 'registry' GROUP BY registry",
    "counted": f"""
        SELECT file, capture, captures, host, kind, boot_id, {moment('opened_at_ns')} AS opened_at,
               {moment('captured_at_ns')} AS captured_at, seconds, uptime, threads, ended, tool, level_left_out,
               facts_left_out, metrics_left_out, registry, facts, totals, headlines, coverage, groups, group_threads, group_own, figures
        FROM stored WHERE row = 'capture' AND {{counts}}""",
    "captures": "SELECT counted.* EXCLUDE (totals, headlines), map(names, totals) AS totals FROM counted LEFT JOIN known USING (registry)",
    "facts": f"""
        SELECT {COMMON}, fact.key AS fact, fact.value AS value
        FROM (SELECT {COMMON}, unnest(map_entries(facts)) AS fact FROM counted)""",
    "totals": f"""
        SELECT {COMMON}, metric, value, coverage[metric][1] AS has, coverage[metric][2] AS rows
        FROM (SELECT {COMMON}, coverage, unnest(names) AS metric, unnest(totals) AS value FROM counted JOIN known USING (registry))""",
    "groups": f"""
        SELECT {COMMON}, unnest(groups) AS "group", unnest(group_threads) AS threads, metric, unnest(series) AS value
        FROM (SELECT {COMMON}, groups, group_threads, figure.key AS metric, figure.value AS series
              FROM (SELECT {COMMON}, groups, group_threads, unnest(map_entries(figures)) AS figure FROM counted))""",
    "left_out": """
        SELECT file, NULL::INTEGER AS capture, 'cannot be read' AS reason, error AS why FROM seen WHERE row = 'file' AND error IS NOT NULL
        UNION ALL
        SELECT file, capture, 'there twice', 'the same capture as in ' || first FROM twice"""}

# What our own questions need; all of them are for SQL.
NEEDED = ("counted", "left_out")

# What every question looks at, read once; and of it what is repeated, which is seldom any.
SEEN = """
    CREATE OR REPLACE TEMP TABLE seen AS
    SELECT row, file, capture, host, boot_id, kind, opened_at_ns, captured_at_ns, error, registry, metrics FROM stored"""
SAME = "host, boot_id, kind, opened_at_ns, captured_at_ns"
TWICE = f"""
    CREATE OR REPLACE TEMP TABLE twice AS
    SELECT file, capture, first FROM (
        SELECT file, capture, row_number() OVER same AS nth, first_value(file) OVER same AS first
        FROM seen WHERE row = 'capture' AND boot_id <> '' AND hash({SAME}) IN (
            SELECT hash({SAME}) FROM seen WHERE row = 'capture' AND boot_id <> '' GROUP BY ALL HAVING count(*) > 1)
        WINDOW same AS (PARTITION BY {SAME} ORDER BY file, capture))
    WHERE nth > 1"""


class Table:
    """An index that is asked."""

    def __init__(self, place, views=NEEDED):
        self.place, self.views = place, views
        self.connection = connect(place.spill())
        self.again(self.open)

    def open(self):
        paths = self.place.bucket_files()
        none = ", ".join(f'NULL::{kind} AS "{key}"' for key, kind in bucket.COLUMNS.items())
        stored = f"SELECT * FROM {read_parquet(paths)}" if paths else f"SELECT {none} WHERE false"
        self.connection.execute(f"CREATE OR REPLACE TEMP VIEW stored AS {stored}")
        self.connection.execute(SEEN)
        self.connection.execute(TWICE)
        self.counts = COUNTS if self.connection.execute("SELECT count(*) FROM twice").fetchone()[0] else ALL_COUNT
        for name in self.views:
            self.connection.execute(f'CREATE OR REPLACE TEMP VIEW "{name}" AS {VIEWS[name].format(counts=self.counts)}')

    def rows(self, query, parameters=None):
        return self.again(lambda: self.connection.execute(query, parameters).fetchall(), self.open)

    def again(self, deed, before=lambda: None):
        """Once more where an indexer took a bucket away between the list and the reading."""
        for chance in (True, True, False):
            try:
                return deed()
            except duckdb_module().Error as error:
                if not chance or not isinstance(error, duckdb_module().IOException):
                    raise FleetError(unreadable(self.place, error)) from error
            before()
        return None

    def one(self, query, parameters=None):
        return self.rows(query, parameters)[0]

    def left_out_by_reason(self):
        """(reason, [(file, why)]) of what does not count."""
        found = {}
        for file, reason, why in self.rows("SELECT file, reason, why FROM left_out ORDER BY ALL"):
            found.setdefault(reason, []).append((file, why))
        return list(found.items())

    @functools.cached_property
    def facts(self):
        return [fact for fact, in self.rows("SELECT DISTINCT unnest(map_keys(facts)) AS fact FROM counted ORDER BY fact")]

    def fact(self, asked):
        """The fact that is meant: by its name, or by what begins or ends only one."""
        if asked in self.facts:
            return asked
        words = [fact for fact in self.facts if asked in fact.replace(".", "_").split("_")]
        preferred = [fact for fact in words if fact.endswith("_release")] or words
        if len(preferred) == 1:
            return preferred[0]
        if preferred:
            raise FleetError(f"fact '{clean(asked)}': which one, {', '.join(map(clean, preferred[:8]))}?")
        near = nearest(asked, self.facts)
        raise FleetError(f"no capture has a fact '{clean(asked)}'" + (f"; did you mean {clean(near)}?" if near else
                         f"; there are {', '.join(map(clean, self.facts[:12]))}" if self.facts else ""))


def unreadable(place, error):
    return f"reading the index '{place.path}': {place.named(error)}; if it is damaged, remove it and run ctprof fleet index again"


def value_of_fact(fact):
    return f"facts[{text(fact)}]"
