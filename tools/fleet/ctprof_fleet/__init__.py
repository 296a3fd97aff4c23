"""Thousands of captures where they lie: a table beside them, and questions to it.

What is ctprof's business (reading files, reducing rows to groups by the metrics' rules, the statistics, the grammar of
expressions) is asked of ctprof itself, by its plumbing: `ctprof fleet read`, `judge` and `parse`. What is here keeps the
table and asks questions of it, with DuckDB. tools/fleet/README.md says which module does what.
"""
