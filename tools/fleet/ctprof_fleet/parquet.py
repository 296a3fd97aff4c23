"""Rows of `ctprof export` as Parquet: what `export --to parquet` starts.

Standard input has a line that says which columns there are, {"columns": [[NAME, TYPE], ...]} with DuckDB's types, and then rows
as objects, one a line. Standard output gets the file, zstd inside, as it is made: rows are not gathered in memory. Whoever started
this ends it where the input ends before its time, and gives the file its name.
"""

import json
import os
import re
import sys

# A row with all its maps; one thread has a few KiB.
LONGEST_ROW = 64 << 20
MEMORY = "1GB"
TYPES = re.compile(r"[A-Z0-9_]+(\[\]|\([A-Z0-9_, ]+\))?")


def quoted(text, mark):
    return mark + text.replace(mark, 2 * mark) + mark


def first_line(fd):
    """The line, and nothing of what is behind it, which somebody else will read."""
    line = bytearray()
    while not line.endswith(b"\n"):
        byte = os.read(fd, 1)
        if not byte:
            raise EOFError("the input ends before its columns")
        line += byte
    return line


def zoned(kind, connection):
    """Older versions of DuckDB have a moment with a time zone in microseconds only."""
    if kind != "TIMESTAMPTZ_NS":
        return kind
    known = connection.execute("SELECT count(*) FROM duckdb_types() WHERE lower(type_name) = 'timestamptz_ns'").fetchone()[0]
    return kind if known else "TIMESTAMPTZ"


def columns_of(line, connection):
    """DuckDB's struct of columns: {'tid': 'UBIGINT', ...} To it, and to most who read Parquet, `TID` would be that once more: the first stays."""
    columns = {}
    for name, kind in json.loads(line)["columns"]:
        if not TYPES.fullmatch(kind):
            raise ValueError(f"there is no type '{kind}'")
        kind = zoned(kind, connection)
        first = columns.setdefault(name.lower(), (name, kind))
        if first[0] is not name:
            print(f"ctprof: left out {ascii(name)}, whose name readers of Parquet do not tell from {ascii(first[0])}", file=sys.stderr)
    return "{" + ", ".join(f"{quoted(name, chr(34))}: {quoted(kind, chr(39))}" for name, kind in columns.values()) + "}"


def write(source, target):
    import duckdb
    settings = {"memory_limit": MEMORY, "temp_directory": "", "autoinstall_known_extensions": "false", "autoload_known_extensions": "false"}
    line = first_line(source)
    with duckdb.connect(":memory:", config=settings) as connection:
        columns = columns_of(line, connection)
        connection.execute(
            f"COPY (SELECT * FROM read_json('/dev/fd/{source}', format = 'newline_delimited', compression = 'none', "
            f"maximum_object_size = {LONGEST_ROW}, columns = {columns})) "
            f"TO '/dev/fd/{target}' (FORMAT parquet, COMPRESSION zstd, USE_TMP_FILE false)")


def main():
    try:
        write(sys.stdin.fileno(), sys.stdout.fileno())
    except KeyboardInterrupt:
        return 130
    except Exception as error:  # whatever DuckDB does not take
        print(f"ctprof: writing Parquet: {' '.join(str(error).split())}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    # The directory of this file has modules that are not to be taken for others of their names.
    sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    sys.exit(main())
