"""Writes rows of `ctprof export` as Parquet. `ctprof export --to parquet` runs this script.

The first line of standard input describes the columns: {"columns": [[NAME, TYPE], ...]} with DuckDB's types. Each further line is a
row as an object. The file, compressed with zstd, is streamed to standard output: rows are not collected in memory. The parent process
kills this script if the input is incomplete, and gives the file its name.
"""

import json
import os
import re
import sys

# Largest row with all its maps, in bytes. A thread has a few KiB.
LONGEST_ROW = 64 << 20
MEMORY = "1GB"
TYPES = re.compile(r"[A-Z0-9_]+(\[\]|\([A-Z0-9_, ]+\))?")


def quoted(text, mark):
    return mark + text.replace(mark, 2 * mark) + mark


def read_first_line(fd):
    """Reads exactly one line, because DuckDB reads the rest of the input."""
    line = bytearray()
    while not line.endswith(b"\n"):
        byte = os.read(fd, 1)
        if not byte:
            raise EOFError("the input ends before the line that describes its columns")
        line += byte
    return line


def supported_type(kind, connection):
    """Returns the type, or TIMESTAMPTZ (microseconds) in older versions of DuckDB, which lack TIMESTAMPTZ_NS."""
    if kind != "TIMESTAMPTZ_NS":
        return kind
    known = connection.execute("SELECT count(*) FROM duckdb_types() WHERE lower(type_name) = 'timestamptz_ns'").fetchone()[0]
    return kind if known else "TIMESTAMPTZ"


def column_struct(line, connection):
    """Returns DuckDB's struct of columns: {'tid': 'UBIGINT', ...}. DuckDB and most readers of Parquet ignore case in names, so that only the
    first of several equal names is kept."""
    columns = {}
    for name, kind in json.loads(line)["columns"]:
        if not TYPES.fullmatch(kind):
            raise ValueError(f"unknown type '{kind}'")
        kind = supported_type(kind, connection)
        first = columns.setdefault(name.lower(), (name, kind))
        if first[0] is not name:
            print(f"ctprof: left out {ascii(name)}: readers of Parquet cannot distinguish its name from {ascii(first[0])}", file=sys.stderr)
    return "{" + ", ".join(f"{quoted(name, chr(34))}: {quoted(kind, chr(39))}" for name, kind in columns.values()) + "}"


def write_parquet(source, target):
    import duckdb
    settings = {"memory_limit": MEMORY, "temp_directory": "", "autoinstall_known_extensions": "false", "autoload_known_extensions": "false"}
    line = read_first_line(source)
    with duckdb.connect(":memory:", config=settings) as connection:
        columns = column_struct(line, connection)
        connection.execute(
            f"COPY (SELECT * FROM read_json('/dev/fd/{source}', format = 'newline_delimited', compression = 'none', "
            f"maximum_object_size = {LONGEST_ROW}, columns = {columns})) "
            f"TO '/dev/fd/{target}' (FORMAT parquet, COMPRESSION zstd, USE_TMP_FILE false)")


def main():
    try:
        write_parquet(sys.stdin.fileno(), sys.stdout.fileno())
    except KeyboardInterrupt:
        return 130
    except Exception as error:  # any error of DuckDB
        print(f"ctprof: writing Parquet: {' '.join(str(error).split())}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    # Removes the directory of this file from the path: its modules must not replace others of the same name.
    sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    sys.exit(main())
