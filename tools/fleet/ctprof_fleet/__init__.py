"""An index of thousands of captures, stored beside the files, and queries over it.

ctprof itself implements reading files, aggregating rows to groups by the metrics' rules, the statistics and the grammar of
expressions. The package runs it through internal subcommands: `ctprof fleet read`, `judge`, `match` and `parse`. The package
stores the index and queries it with DuckDB. tools/fleet/README.md describes the modules.
"""
