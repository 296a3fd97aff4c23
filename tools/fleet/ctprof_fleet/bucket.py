"""A bucket: one Parquet file with all data of some files.

It has three kinds of rows. Each kind uses its own columns; the others are NULL:

    file       the state of a file when it was read: size, mtime_ns, inode; error, if it could not be read; told: the messages of its reader
    capture    one capture of a file: facts, totals, and its groups as lists, one value for each group
    registry   definitions of metrics as JSON, to which captures refer by `registry`; and their names, in the order of the totals

Groups are lists in the capture's row, so that queries about captures do not read them. Totals are a list too: finding one of two hundred
by name in a map took three times as long. Those of headlines are repeated in a short list, which is faster to read. A bucket is written
under another name and renamed, so that readers see either the old or the new version. The contents of the rows determine their order, so
that the same files give the same table in whatever order they were read.
"""

import json
import os

from .database import duckdb_module, read_parquet_sql, sql_string
from .index_directory import SUFFIX, publish, remove

# The columns of the file, in order. Increase SCHEMA in index_directory.py with each change.
COLUMNS = {
    "row": "VARCHAR", "file": "VARCHAR", "size": "BIGINT", "mtime_ns": "BIGINT", "inode": "UBIGINT", "error": "VARCHAR", "told": "VARCHAR[]",
    "capture": "INTEGER", "captures": "INTEGER", "kind": "VARCHAR", "host": "VARCHAR", "boot_id": "VARCHAR", "opened_at_ns": "BIGINT",
    "captured_at_ns": "BIGINT", "seconds": "DOUBLE", "uptime": "DOUBLE", "threads": "BIGINT", "ended": "BIGINT", "tool": "VARCHAR",
    "level_left_out": "VARCHAR[]", "facts": "MAP(VARCHAR, VARCHAR)", "facts_left_out": "INTEGER",
    "metrics_left_out": "INTEGER", "totals": "DOUBLE[]", "headlines": "DOUBLE[]",
    "coverage": "MAP(VARCHAR, BIGINT[])", "groups": "VARCHAR[]", "group_threads": "BIGINT[]", "group_own": "BOOLEAN[]",
    "figures": "MAP(VARCHAR, DOUBLE[])",
    "registry": "VARCHAR", "metrics": "VARCHAR", "names": "VARCHAR[]"}

# Columns that come from the lines of `ctprof fleet read`.
OTHER_COLUMNS = ("row", "size", "mtime_ns", "inode", "error", "told", "groups", "group_threads", "group_own", "figures", "metrics", "names")
READER_COLUMNS = {key: kind for key, kind in COLUMNS.items() if key not in OTHER_COLUMNS}
GROUPS_TYPE = 'STRUCT(pattern VARCHAR[], own BOOLEAN[], threads BIGINT[], figures MAP(VARCHAR, DOUBLE[]))'
FILE_COLUMNS = {key: COLUMNS[key] for key in ("file", "size", "mtime_ns", "inode", "error", "told")}

# Minimum for the size of DuckDB's buffers, which must hold the longest line. The default of 16 MiB would waste memory.
MIN_BUFFER_BYTES = 1 << 20


class JsonLines:
    """Lines of JSON in a memory file that DuckDB can read."""

    def __init__(self, lines=()):
        self.file = os.fdopen(os.memfd_create("ctprof-fleet", os.MFD_CLOEXEC), "wb")
        self.longest = MIN_BUFFER_BYTES
        for line in lines:
            self.longest = max(self.longest, len(line) + 1)
            self.file.write(line)
        self.file.flush()

    def read(self, columns, more=None):
        kinds = ", ".join(f'"{key}": {sql_string(kind)}' for key, kind in (columns | (more or {})).items())
        return (f"read_json('/proc/self/fd/{self.file.fileno()}', format = 'newline_delimited', columns = {{{kinds}}}, "
                f"maximum_object_size = {self.longest})")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.file.close()


def to_json_lines(records):
    return (json.dumps(record, ensure_ascii=False).encode() + b"\n" for record in records)


def column_list_sql(known):
    """Returns an SQL select list of all columns. `known` maps some columns to SQL; the others are NULL."""
    return ", ".join(f'{known.get(key, "NULL")}::{kind} AS "{key}"' for key, kind in COLUMNS.items())


def file_rows_sql(files):
    return "SELECT " + column_list_sql({"row": "'file'"} | {key: key for key in FILE_COLUMNS}) + f" FROM {files.read(FILE_COLUMNS)}"


def capture_rows_sql(captures):
    known = {"row": "'capture'", "groups": "reduced.pattern", "group_threads": "reduced.threads", "group_own": "reduced.own",
             "figures": "reduced.figures"}
    known |= {key: f'"{key}"' for key in READER_COLUMNS}
    source = captures.read(READER_COLUMNS, {"groups": GROUPS_TYPE})
    return "SELECT " + column_list_sql(known) + f' FROM (SELECT * EXCLUDE ("groups"), "groups" AS reduced FROM {source})'


def registry_rows_sql(registries):
    own = {key: COLUMNS[key] for key in ("registry", "metrics", "names")}
    return "SELECT " + column_list_sql({"row": "'registry'"} | {key: key for key in own}) + f" FROM {registries.read(own)}"


def remaining_rows_sql(old, without):
    """Returns SQL for the bucket's rows of other files."""
    return (f"SELECT * FROM {read_parquet_sql([old])} "
            f"WHERE file IS NULL OR file NOT IN (SELECT file FROM {without.read({'file': 'VARCHAR'})})")


def write(connection, path, *, files, captures, registries, replaced):
    """Replaces the bucket `path`: removes the rows of the files `replaced` and adds new rows. Removes an empty bucket.

    REQUIRES: its slot is locked.
    """
    with JsonLines(to_json_lines(files)) as files, JsonLines(captures) as captures, JsonLines(to_json_lines(registries)) as registries, \
            JsonLines(to_json_lines({"file": file} for file in replaced)) as without:
        parts = [file_rows_sql(files), capture_rows_sql(captures), registry_rows_sql(registries)]
        if os.path.exists(path):
            parts.append(remaining_rows_sql(path, without))
        temporary = path.removesuffix(SUFFIX) + ".new"
        rows = connection.execute(f"COPY ({union_query(parts)}) TO {sql_string(temporary)} (FORMAT parquet, COMPRESSION zstd)").fetchone()[0]
        if rows == 0:
            os.unlink(temporary)
            remove(path)
        else:
            publish(temporary, path)


def union_query(parts):
    """Returns SQL for all rows in order. Keeps each definition of metrics once, and only if a capture refers to it."""
    return ("WITH everything AS (" + " UNION ALL BY NAME ".join(parts) + ") "
            "SELECT * FROM everything WHERE row <> 'registry' UNION ALL BY NAME "
            "(SELECT DISTINCT * FROM everything WHERE row = 'registry' AND registry IN (SELECT registry FROM everything WHERE row = 'capture')) "
            "ORDER BY row, file, capture, registry")


def is_storable(connection, lines):
    """Returns whether the table can store these captures."""
    with JsonLines(lines) as captures:
        try:
            connection.execute(f"SELECT count(COLUMNS(*)) FROM ({capture_rows_sql(captures)})").fetchall()
        except duckdb_module().Error:
            return False
    return True


def read_known_files(connection, paths):
    """Returns the files in buckets: (bucket's path, file, size, mtime in ns, inode)."""
    if not paths:
        return []
    return connection.execute(f"SELECT filename, file, size, mtime_ns, inode FROM {read_parquet_sql(paths, ', filename = true')} "
                              "WHERE row = 'file'").fetchall()
