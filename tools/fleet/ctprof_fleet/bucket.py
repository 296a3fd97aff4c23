"""A bucket: one Parquet file with all that is known of some files.

It has three kinds of rows, each with its own columns, the others NULL:

    file       a file as it was when it was read: size, mtime_ns, inode; error, if it could not be read; told: what its reader said
    capture    one capture of a file: facts, totals, and its groups as lists, one value for each group
    registry   the definitions of metrics, as JSON, that captures name by `registry`; and their names, in the order of the totals

Groups are lists in the capture's row, so that questions about captures never touch them. Totals are a list, too: finding one of two
hundred by its name, in a map, took three times as long; and those of headlines once more a short one, which is quicker to read. A bucket is written whole, under another name, and renamed: whoever reads it
sees the old one or the new one. The order of rows follows from what they are, so that the same files make the same table whoever read
them, and in whichever order.
"""

import json
import os

from .database import duckdb_module, read_parquet, text
from .place import SUFFIX, publish, remove

# The columns of the file, in order; SCHEMA in place.py counts their changes.
COLUMNS = {
    "row": "VARCHAR", "file": "VARCHAR", "size": "BIGINT", "mtime_ns": "BIGINT", "inode": "UBIGINT", "error": "VARCHAR", "told": "VARCHAR[]",
    "capture": "INTEGER", "captures": "INTEGER", "kind": "VARCHAR", "host": "VARCHAR", "boot_id": "VARCHAR", "opened_at_ns": "BIGINT",
    "captured_at_ns": "BIGINT", "seconds": "DOUBLE", "uptime": "DOUBLE", "threads": "BIGINT", "ended": "BIGINT", "tool": "VARCHAR",
    "level_left_out": "VARCHAR[]", "facts": "MAP(VARCHAR, VARCHAR)", "facts_left_out": "INTEGER",
    "metrics_left_out": "INTEGER", "totals": "DOUBLE[]", "headlines": "DOUBLE[]",
    "coverage": "MAP(VARCHAR, BIGINT[])", "groups": "VARCHAR[]", "group_threads": "BIGINT[]", "group_own": "BOOLEAN[]",
    "figures": "MAP(VARCHAR, DOUBLE[])",
    "registry": "VARCHAR", "metrics": "VARCHAR", "names": "VARCHAR[]"}

# Of the lines of `ctprof fleet read`.
NOT_FROM_READER = ("row", "size", "mtime_ns", "inode", "error", "told", "groups", "group_threads", "group_own", "figures", "metrics", "names")
FROM_READER = {key: kind for key, kind in COLUMNS.items() if key not in NOT_FROM_READER}
GROUPS = 'STRUCT(pattern VARCHAR[], own BOOLEAN[], threads BIGINT[], figures MAP(VARCHAR, DOUBLE[]))'
OF_FILES = {key: COLUMNS[key] for key in ("file", "size", "mtime_ns", "inode", "error", "told")}

# DuckDB's buffers are as large as the longest line: of any capture's many groups, but not of 16 MiB for nothing.
SHORTEST_BUFFER = 1 << 20


class Lines:
    """Lines of JSON in memory, as a file that DuckDB can read."""

    def __init__(self, lines=()):
        self.file = os.fdopen(os.memfd_create("ctprof-fleet", os.MFD_CLOEXEC), "wb")
        self.longest = SHORTEST_BUFFER
        for line in lines:
            self.longest = max(self.longest, len(line) + 1)
            self.file.write(line)
        self.file.flush()

    def read(self, columns, more=None):
        kinds = ", ".join(f'"{key}": {text(kind)}' for key, kind in (columns | (more or {})).items())
        return (f"read_json('/proc/self/fd/{self.file.fileno()}', format = 'newline_delimited', columns = {{{kinds}}}, "
                f"maximum_object_size = {self.longest})")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.file.close()


def as_lines(records):
    return (json.dumps(record, ensure_ascii=False).encode() + b"\n" for record in records)


def all_columns(known):
    """`known` says what some columns are; the others are NULL."""
    return ", ".join(f'{known.get(key, "NULL")}::{kind} AS "{key}"' for key, kind in COLUMNS.items())


def file_rows(files):
    return "SELECT " + all_columns({"row": "'file'"} | {key: key for key in OF_FILES}) + f" FROM {files.read(OF_FILES)}"


def capture_rows(captures):
    known = {"row": "'capture'", "groups": "reduced.pattern", "group_threads": "reduced.threads", "group_own": "reduced.own",
             "figures": "reduced.figures"}
    known |= {key: f'"{key}"' for key in FROM_READER}
    source = captures.read(FROM_READER, {"groups": GROUPS})
    return "SELECT " + all_columns(known) + f' FROM (SELECT * EXCLUDE ("groups"), "groups" AS reduced FROM {source})'


def registry_rows(registries):
    own = {key: COLUMNS[key] for key in ("registry", "metrics", "names")}
    return "SELECT " + all_columns({"row": "'registry'"} | {key: key for key in own}) + f" FROM {registries.read(own)}"


def kept_rows(old, without):
    """What the bucket has of other files."""
    return (f"SELECT * FROM {read_parquet([old])} "
            f"WHERE file IS NULL OR file NOT IN (SELECT file FROM {without.read({'file': 'VARCHAR'})})")


def write(connection, path, *, files, captures, registries, replaced):
    """Replaces the bucket `path`: without what it had of the files `replaced`, with these. A bucket without files goes.

    REQUIRES: its slot is locked.
    """
    with Lines(as_lines(files)) as files, Lines(captures) as captures, Lines(as_lines(registries)) as registries, \
            Lines(as_lines({"file": file} for file in replaced)) as without:
        parts = [file_rows(files), capture_rows(captures), registry_rows(registries)]
        if os.path.exists(path):
            parts.append(kept_rows(path, without))
        temporary = path.removesuffix(SUFFIX) + ".new"
        rows = connection.execute(f"COPY ({ordered(parts)}) TO {text(temporary)} (FORMAT parquet, COMPRESSION zstd)").fetchone()[0]
        if rows == 0:
            os.unlink(temporary)
            remove(path)
        else:
            publish(temporary, path)


def ordered(parts):
    """Each definition of metrics once, and only while a capture has it."""
    return ("WITH everything AS (" + " UNION ALL BY NAME ".join(parts) + ") "
            "SELECT * FROM everything WHERE row <> 'registry' UNION ALL BY NAME "
            "(SELECT DISTINCT * FROM everything WHERE row = 'registry' AND registry IN (SELECT registry FROM everything WHERE row = 'capture')) "
            "ORDER BY row, file, capture, registry")


def is_sound(connection, lines):
    """Whether the table can hold these captures."""
    with Lines(lines) as captures:
        try:
            connection.execute(f"SELECT count(COLUMNS(*)) FROM ({capture_rows(captures)})").fetchall()
        except duckdb_module().Error:
            return False
    return True


def known_files(connection, paths):
    """What buckets say of the files in them: (bucket's path, file, size, mtime in ns, inode)."""
    if not paths:
        return []
    return connection.execute(f"SELECT filename, file, size, mtime_ns, inode FROM {read_parquet(paths, ', filename = true')} "
                              "WHERE row = 'file'").fetchall()
