"""`sql`: a query over the views, which reads and cannot write, nor open anything but the index."""

import datetime
import decimal
import json
import math
import re
import sys
import uuid

from .database import duckdb_module, text
from .errors import FleetError
from .printable import Table, clean
from .question import Question
from .views import VIEWS

EXPLAIN = re.compile(r"\s*EXPLAIN\b(\s+ANALYZE\b)?(\s*\([^()]*\)(?=\s*(FROM|SELECT|WITH)\b))?", re.IGNORECASE)

# Of an answer in text; CSV and JSON have all of it.
MOST_ROWS = 1000


def run(options, output):
    options.since = options.until = None
    with Question(options, VIEWS) as question:
        if options.query is None and sys.stdin.isatty():
            tell_views(question, output)
            return 0
        answer(question, output, options.query if options.query is not None else sys.stdin.read())
    return 0


def with_views(question):
    """Everything that a query may see, and then nothing more: the view of definitions is a table, because making it takes JSON."""
    run_sql = question.table.connection.execute
    run_sql("""
        CREATE TEMP VIEW metrics AS
        SELECT DISTINCT m->>'name' AS metric, m->>'entity' AS entity, m->>'unit' AS unit, m->>'family' AS family, m->>'$.headline.label' AS label,
               m->>'$.headline.shown' AS shown, (m->>'$.headline.floor')::DOUBLE AS floor
        FROM (SELECT unnest(from_json(metrics, '["JSON"]')) AS m FROM stored WHERE row = 'registry')""")
    run_sql(f"SET allowed_directories = [{text(question.place.buckets + '/')}, {text(question.place.spill())}]")
    run_sql("SET enable_external_access = false; SET lock_configuration = true")


def answer(question, output, query):
    duckdb = duckdb_module()
    with_views(question)
    connection = question.table.connection
    try:
        statements = connection.extract_statements(query)
        if len(statements) != 1:
            raise FleetError(f"sql: one query is wanted, not {len(statements)}")
        if not is_query(connection, statements[0]):
            raise FleetError("sql: only queries are answered (SELECT, FROM, DESCRIBE, SUMMARIZE, EXPLAIN)")
        found = connection.execute(statements[0])
        write(output, [column[0] for column in found.description], rows_of(found))
    except duckdb.Error as error:
        raise FleetError(f"sql: {clean(str(error).strip().splitlines()[0])}") from error


def is_query(connection, statement):
    """EXPLAIN ANALYZE does what it explains, so that has to be a query, too."""
    kinds = duckdb_module().StatementType
    if statement.type == kinds.EXPLAIN:
        explained = EXPLAIN.match(statement.query)
        inner = connection.extract_statements(statement.query[explained.end():]) if explained else []
        return len(inner) == 1 and inner[0].type == kinds.SELECT
    return statement.type == kinds.SELECT


def rows_of(found):
    while rows := found.fetchmany(1000):
        yield from rows


def write(output, headings, rows):
    if output.format == "csv":
        output.csv(headings, ([as_csv(value) for value in row] for row in rows))
    elif output.format == "json":
        output.json({"columns": headings, "rows": [[plain(value) for value in row] for row in rows]})
    else:
        write_text(output, headings, rows)


def write_text(output, headings, rows):
    shown = []
    for row in rows:
        if len(shown) == MOST_ROWS:
            output.note(f"the first {MOST_ROWS} rows; --format csv has all")
            break
        shown.append([as_text(value) for value in row])
    is_figure = [all(isinstance(row[at], Number) for row in shown) for at in range(len(headings))]
    texts = len(headings) - next((n for n, figure in enumerate(reversed(is_figure)) if not figure), len(headings))
    table = Table([clean(heading) for heading in headings], texts)
    for row in shown:
        table.add(*row)
    output.table(table)


class Number(str):
    """A figure, in text."""


def as_text(value):
    if value is None:
        return Number("-")
    if isinstance(value, (int, float, decimal.Decimal)) and not isinstance(value, bool):
        return Number(value if isinstance(value, int) else f"{value:.6g}")
    return str(plain(value)) if not isinstance(value, (list, dict)) else json.dumps(plain(value), ensure_ascii=False)


def as_csv(value):
    found = plain(value)
    return json.dumps(found, ensure_ascii=False) if isinstance(found, (list, dict)) else found


def plain(value):
    """As JSON has it; what is no number is nothing."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    if isinstance(value, decimal.Decimal):
        return float(value)
    if isinstance(value, (datetime.date, datetime.time, datetime.datetime, datetime.timedelta, uuid.UUID)):
        return str(value)
    return value.hex() if isinstance(value, bytes) else value


def tell_views(question, output):
    for view in VIEWS:
        columns = [row[0] for row in question.table.rows(f"DESCRIBE {view}")]
        output.sentence(f"{view}: {', '.join(columns)}")
    output.sentence("metrics: metric, entity, unit, family, label, shown, floor")
