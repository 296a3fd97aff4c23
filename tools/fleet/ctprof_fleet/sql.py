"""`sql`: runs a query over the views. It cannot write, and cannot open files other than the index."""

import datetime
import decimal
import json
import math
import re
import sys
import uuid

from .database import duckdb_module, sql_string
from .errors import FleetError
from .printable import Table, escape_hidden
from .query import Query
from .views import VIEWS

EXPLAIN = re.compile(r"\s*EXPLAIN\b(\s+ANALYZE\b)?(\s*\([^()]*\)(?=\s*(FROM|SELECT|WITH)\b))?", re.IGNORECASE)

# Limit of rows for text output. CSV and JSON contain all rows.
MAX_TEXT_ROWS = 1000


def run(options, output):
    options.since = options.until = None
    with Query(options, VIEWS) as index_query:
        if options.query is None and sys.stdin.isatty():
            list_views(index_query, output)
            return 0
        run_query(index_query, output, options.query if options.query is not None else sys.stdin.read())
    return 0


def define_views(index_query):
    """Creates the last view and then disables access to other files and to settings."""
    run_sql = index_query.table.connection.execute
    run_sql("""
        CREATE TEMP VIEW metrics AS
        SELECT DISTINCT m->>'name' AS metric, m->>'entity' AS entity, m->>'unit' AS unit, m->>'family' AS family, m->>'$.headline.label' AS label,
               m->>'$.headline.shown' AS shown, (m->>'$.headline.floor')::DOUBLE AS floor
        FROM (SELECT unnest(from_json(metrics, '["JSON"]')) AS m FROM stored WHERE row = 'registry')""")
    run_sql(f"SET allowed_directories = [{sql_string(index_query.index_dir.buckets + '/')}, {sql_string(index_query.index_dir.spill_directory())}]")
    run_sql("SET enable_external_access = false; SET lock_configuration = true")


def run_query(index_query, output, query):
    duckdb = duckdb_module()
    define_views(index_query)
    connection = index_query.table.connection
    try:
        statements = connection.extract_statements(query)
        if len(statements) != 1:
            raise FleetError(f"sql: exactly one query is required, not {len(statements)}")
        if not is_query(connection, statements[0]):
            raise FleetError("sql: only queries are allowed (SELECT, FROM, DESCRIBE, SUMMARIZE, EXPLAIN)")
        found = connection.execute(statements[0])
        write_result(output, [column[0] for column in found.description], fetch_rows(found))
    except duckdb.Error as error:
        raise FleetError(f"sql: {escape_hidden(str(error).strip().splitlines()[0])}") from error


def is_query(connection, statement):
    """Returns whether the statement only reads. EXPLAIN ANALYZE executes its statement, so that must be a query too."""
    kinds = duckdb_module().StatementType
    if statement.type == kinds.EXPLAIN:
        explained = EXPLAIN.match(statement.query)
        inner = connection.extract_statements(statement.query[explained.end():]) if explained else []
        return len(inner) == 1 and inner[0].type == kinds.SELECT
    return statement.type == kinds.SELECT


def fetch_rows(found):
    while rows := found.fetchmany(1000):
        yield from rows


def write_result(output, headings, rows):
    if output.format == "csv":
        output.write_csv(headings, ([to_csv(value) for value in row] for row in rows))
    elif output.format == "json":
        output.write_json({"columns": headings, "rows": [[to_json_value(value) for value in row] for row in rows]})
    else:
        write_text(output, headings, rows)


def write_text(output, headings, rows):
    shown = []
    for row in rows:
        if len(shown) == MAX_TEXT_ROWS:
            output.print_note(f"the first {MAX_TEXT_ROWS} rows; --format csv has all")
            break
        shown.append([to_text(value) for value in row])
    is_figure = [all(isinstance(row[at], NumberText) for row in shown) for at in range(len(headings))]
    texts = len(headings) - next((n for n, figure in enumerate(reversed(is_figure)) if not figure), len(headings))
    table = Table([escape_hidden(heading) for heading in headings], texts)
    for row in shown:
        table.add(*row)
    output.write_table(table)


class NumberText(str):
    """A number as text, which is right-aligned."""


def to_text(value):
    if value is None:
        return NumberText("-")
    if isinstance(value, (int, float, decimal.Decimal)) and not isinstance(value, bool):
        return NumberText(value if isinstance(value, int) else f"{value:.6g}")
    return str(to_json_value(value)) if not isinstance(value, (list, dict)) else json.dumps(to_json_value(value), ensure_ascii=False)


def to_csv(value):
    found = to_json_value(value)
    return json.dumps(found, ensure_ascii=False) if isinstance(found, (list, dict)) else found


def to_json_value(value):
    """Converts a value to one that JSON can represent. NaN and infinities become None."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {str(key): to_json_value(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [to_json_value(one) for one in value]
    if isinstance(value, decimal.Decimal):
        return float(value)
    if isinstance(value, (datetime.date, datetime.time, datetime.datetime, datetime.timedelta, uuid.UUID)):
        return str(value)
    return value.hex() if isinstance(value, bytes) else value


def list_views(index_query, output):
    for view in VIEWS:
        columns = [row[0] for row in index_query.table.fetch_rows(f"DESCRIBE {view}")]
        output.write_sentence(f"{view}: {', '.join(columns)}")
    output.write_sentence("metrics: metric, entity, unit, family, label, shown, floor")
