"""The views of an index for queries, without damaged files and duplicate captures.

    files      a row for each file: file, size, modified_at, captures, error; told: the messages of its reader
    captures   a row for each valid capture: host, time, length; its facts and totals as maps
    facts      (captures x facts)    fact, value
    totals     (captures x metrics)  metric, value, has, rows: the number of rows with a value, and of all rows
    groups     (captures x groups x headline metrics)  group, threads, metric, value
    metrics    a row for each metric that a capture defines
    left_out   excluded files and captures, and why

The index alone determines at query time which captures are excluded, so the order of indexing does not matter: of captures with the same
host, boot and times, the first by file name is kept.
"""

import functools

from . import bucket
from .database import connect, duckdb_module, sql_timestamp, read_parquet_sql, sql_string
from .errors import FleetError, find_nearest
from .printable import escape_hidden

COMMON = "file, capture, host, kind, captured_at, seconds"
IS_NO_DUPLICATE = "(file, capture) NOT IN (SELECT (file, capture) FROM duplicates)"
NO_DUPLICATES_EXIST = "true"

# The subcommands query `counted`: totals as they are stored, in the order of the registry's names.
VIEWS = {
    "files": f"SELECT file, size, {sql_timestamp('mtime_ns')} AS modified_at, error, told FROM stored WHERE row = 'file'",
    "known": "SELECT registry, any_value(names) AS names FROM stored WHERE row = 'registry' GROUP BY registry",
    "counted": f"""
        SELECT file, capture, captures, host, kind, boot_id, {sql_timestamp('opened_at_ns')} AS opened_at,
               {sql_timestamp('captured_at_ns')} AS captured_at, seconds, uptime, threads, ended, tool, level_left_out,
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
        SELECT file, capture, 'duplicate', 'the same capture as in ' || first FROM duplicates"""}

# Views that the subcommands need. The subcommand sql defines all of them.
NEEDED = ("counted", "left_out")

# Columns that every query needs, read once; and the duplicate captures, of which there are usually none.
CREATE_SEEN = """
    CREATE OR REPLACE TEMP TABLE seen AS
    SELECT row, file, capture, host, boot_id, kind, opened_at_ns, captured_at_ns, error, registry, metrics FROM stored"""
DUPLICATE_KEY = "host, boot_id, kind, opened_at_ns, captured_at_ns"
CREATE_DUPLICATES = f"""
    CREATE OR REPLACE TEMP TABLE duplicates AS
    SELECT file, capture, first FROM (
        SELECT file, capture, row_number() OVER same AS nth, first_value(file) OVER same AS first
        FROM seen WHERE row = 'capture' AND boot_id <> '' AND hash({DUPLICATE_KEY}) IN (
            SELECT hash({DUPLICATE_KEY}) FROM seen WHERE row = 'capture' AND boot_id <> '' GROUP BY ALL HAVING count(*) > 1)
        WINDOW same AS (PARTITION BY {DUPLICATE_KEY} ORDER BY file, capture))
    WHERE nth > 1"""


class IndexTable:
    """A connection to an index with its views."""

    def __init__(self, index_dir, views=NEEDED):
        self.index_dir, self.views = index_dir, views
        self.connection = connect(index_dir.spill_directory())
        self.retry(self.create_views)

    def create_views(self):
        paths = self.index_dir.bucket_files()
        none = ", ".join(f'NULL::{kind} AS "{key}"' for key, kind in bucket.COLUMNS.items())
        stored = f"SELECT * FROM {read_parquet_sql(paths)}" if paths else f"SELECT {none} WHERE false"
        self.connection.execute(f"CREATE OR REPLACE TEMP VIEW stored AS {stored}")
        self.connection.execute(CREATE_SEEN)
        self.connection.execute(CREATE_DUPLICATES)
        self.counts = IS_NO_DUPLICATE if self.connection.execute("SELECT count(*) FROM duplicates").fetchone()[0] else NO_DUPLICATES_EXIST
        for name in self.views:
            self.connection.execute(f'CREATE OR REPLACE TEMP VIEW "{name}" AS {VIEWS[name].format(counts=self.counts)}')

    def fetch_rows(self, query, parameters=None):
        return self.retry(lambda: self.connection.execute(query, parameters).fetchall(), self.create_views)

    def retry(self, operation, before=lambda: None):
        """Runs an operation, and repeats it if an indexer removed a bucket between listing and reading."""
        for chance in (True, True, False):
            try:
                return operation()
            except duckdb_module().Error as error:
                if not chance or not isinstance(error, duckdb_module().IOException):
                    raise FleetError(read_error_text(self.index_dir, error)) from error
            before()
        return None

    def fetch_one(self, query, parameters=None):
        return self.fetch_rows(query, parameters)[0]

    def excluded_by_reason(self):
        """Returns (reason, [(file, explanation)]) of excluded files and captures."""
        found = {}
        for file, reason, why in self.fetch_rows("SELECT file, reason, why FROM left_out ORDER BY ALL"):
            found.setdefault(reason, []).append((file, why))
        return list(found.items())

    @functools.cached_property
    def facts(self):
        return [fact for fact, in self.fetch_rows("SELECT DISTINCT unnest(map_keys(facts)) AS fact FROM counted ORDER BY fact")]

    def find_fact(self, word):
        """Returns the fact with that name, or the only fact that contains it as a word."""
        if word in self.facts:
            return word
        words = [fact for fact in self.facts if word in fact.replace(".", "_").split("_")]
        preferred = [fact for fact in words if fact.endswith("_release")] or words
        if len(preferred) == 1:
            return preferred[0]
        if preferred:
            raise FleetError(f"fact '{escape_hidden(word)}': ambiguous; use one of {', '.join(map(escape_hidden, preferred[:8]))}")
        nearest = find_nearest(word, self.facts)
        raise FleetError(f"no capture has a fact '{escape_hidden(word)}'" + (f"; did you mean {escape_hidden(nearest)}?" if nearest else
                         f"; there are {', '.join(map(escape_hidden, self.facts[:12]))}" if self.facts else ""))


def read_error_text(index_dir, error):
    return f"reading the index '{index_dir.path}': {index_dir.describe_error(error)}; if it is damaged, remove it and run ctprof fleet index again"


def fact_sql(fact):
    return f"facts[{sql_string(fact)}]"
