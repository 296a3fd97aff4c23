"""DuckDB, as this package uses it: in memory, without extensions from elsewhere, and within limits."""

import functools
import os
import sys

from .errors import FleetError

# In a place of its own: pip is not let into the Python of a system.
HOW_TO_GET_IT = ("this is done by DuckDB, which python3 does not have: python3 -m venv ~/duckdb && ~/duckdb/bin/pip install duckdb && "
                 "export PATH=~/duckdb/bin:$PATH (on Debian: apt-get install python3-venv first)")

# What DuckDB may take before it writes to disk what it cannot hold. Python, the reader and the file cache come on top.
INDEX_MEMORY = "384MB"
QUESTION_MEMORY = "600MB"

# Nanoseconds since 1970 that are a moment: until April 2262, a day before 64 bits end.
LAST_NS = 2 ** 63 - 1 - 86_400 * 10 ** 9


@functools.cache
def duckdb_module():
    """The module, which takes a tenth of a second to load and is loaded only where it is needed."""
    found = imported()
    if not found and sys.flags.no_site:  # As ctprof starts us.
        import site
        site.main()
        found = imported()
    if not found:
        raise FleetError(HOW_TO_GET_IT)
    return found


def imported():
    """None where it is nowhere in Python's path, to which `site` adds the directories of packages and runs whatever other packages want to be
    run at every start, which may take as long as a ranking. Where PYTHONPATH has DuckDB, that is not needed."""
    try:
        import _duckdb  # All that is used here; what else the package `duckdb` loads takes longer than a ranking.
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
    """A database in memory. What does not fit goes into the directory `spill`, which DuckDB makes and takes away."""
    settings = {"memory_limit": memory, "temp_directory": spill, "max_temp_directory_size": "20GB",
                "autoinstall_known_extensions": "false", "autoload_known_extensions": "false", "threads": str(threads or os.cpu_count() or 1)}
    connection = duckdb_module().connect(":memory:", config=settings)
    connection.execute("SET enable_progress_bar = false; SET TimeZone = 'UTC'; SET parquet_metadata_cache = true")
    return connection


def text(value):
    """A string as SQL writes it."""
    return "'" + str(value).replace("'", "''") + "'"


def name(value):
    """A column's name as SQL writes it."""
    return '"' + str(value).replace('"', '""') + '"'


def moment(column):
    """A moment of nanoseconds since 1970, which a file may say anything of: none where DuckDB has none."""
    return f"CASE WHEN {column} BETWEEN {-LAST_NS} AND {LAST_NS} THEN make_timestamp_ns({column}) END"


def texts(values):
    return "[" + ", ".join(text(value) for value in values) + "]"


def read_parquet(paths, more=""):
    """Of these files, whose strings would be patterns: what is special in one is taken as it is. A directory that is called KEY=VALUE would
    otherwise be a column."""
    return f"read_parquet({file_list(paths)}, hive_partitioning = false{more})"


def file_list(paths):
    return texts("".join(f"[{c}]" if c in "*?[" else c for c in path) for path in paths)
