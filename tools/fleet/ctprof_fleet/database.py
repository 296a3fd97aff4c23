"""DuckDB connections: in memory, without installing extensions, and with limits."""

import functools
import os
import sys

from .errors import FleetError

# Installs into a virtual environment, because pip does not modify a system Python.
DUCKDB_MISSING = ("this command needs DuckDB, which python3 does not have; install it: python3 -m venv ~/duckdb && ~/duckdb/bin/pip install duckdb && "
                 "export PATH=~/duckdb/bin:$PATH (on Debian: apt-get install python3-venv first)")

# Memory limits of DuckDB, which then spills to disk. Python, the reader process and the page cache need additional memory.
INDEX_MEMORY = "384MB"
QUESTION_MEMORY = "600MB"

# Latest valid time in nanoseconds since 1970: April 2262, a day before the end of the 64-bit range.
LAST_NS = 2 ** 63 - 1 - 86_400 * 10 ** 9


@functools.cache
def duckdb_module():
    """Returns the module. Loading takes a tenth of a second, so it is loaded only if necessary."""
    found = import_duckdb()
    if not found and sys.flags.no_site:  # ctprof starts Python with -S.
        import site
        site.main()
        found = import_duckdb()
    if not found:
        raise FleetError(DUCKDB_MISSING)
    return found


def import_duckdb():
    """Returns DuckDB, or None if it is not in Python's path. The module `site` adds package directories to the path, but also runs startup code
    of other packages, which may take as long as a ranking. It is not needed if DuckDB is in PYTHONPATH."""
    try:
        import _duckdb  # Sufficient for this package. The rest of `duckdb` takes longer to load than a ranking.
        if hasattr(_duckdb, "connect"):
            return _duckdb
    except ImportError:
        pass
    try:
        import duckdb
    except ImportError:
        return None
    return duckdb


def connect(spill, memory=QUESTION_MEMORY, threads=None):
    """Connects to a database in memory. DuckDB creates the directory `spill` for data that does not fit, and removes it."""
    settings = {"memory_limit": memory, "temp_directory": spill, "max_temp_directory_size": "20GB",
                "autoinstall_known_extensions": "false", "autoload_known_extensions": "false", "threads": str(threads or os.cpu_count() or 1)}
    connection = duckdb_module().connect(":memory:", config=settings)
    connection.execute("SET enable_progress_bar = false; SET TimeZone = 'UTC'; SET parquet_metadata_cache = true")
    return connection


def sql_string(value):
    """Returns an SQL string literal."""
    return "'" + str(value).replace("'", "''") + "'"


def sql_name(value):
    """Returns a quoted SQL identifier."""
    return '"' + str(value).replace('"', '""') + '"'


def sql_timestamp(column):
    """Returns SQL for a timestamp from nanoseconds since 1970. Values outside the range of DuckDB, which a file may contain, become NULL."""
    return f"CASE WHEN {column} BETWEEN {-LAST_NS} AND {LAST_NS} THEN make_timestamp_ns({column}) END"


def sql_list(values):
    return "[" + ", ".join(sql_string(value) for value in values) + "]"


def read_parquet_sql(paths, more=""):
    """Returns SQL that reads these files. Escapes patterns in their names, and prevents that a directory KEY=VALUE adds a column."""
    return f"read_parquet({sql_file_list(paths)}, hive_partitioning = false{more})"


def sql_file_list(paths):
    return sql_list("".join(f"[{c}]" if c in "*?[" else c for c in path) for path in paths)
