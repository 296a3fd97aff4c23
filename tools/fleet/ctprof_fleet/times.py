"""Converts the points in time of --since and --until. `ctprof fleet time` parses them, in the forms of ctprof's own --since."""

import datetime
import json

from .errors import FleetError
from .printable import escape_hidden
from .subcommands import run_subcommand


def parse_time(time_text):
    """Returns a datetime in UTC."""
    status, answer, _ = run_subcommand("time", time_text)
    if status != 0:
        raise FleetError(f"'{escape_hidden(time_text)}' is not a valid time; use 10 min ago, 15:00, yesterday 15:00 or 2026-11-23 15:00")
    microseconds = json.loads(answer)["unix_ns"] // 1000
    return datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc) + datetime.timedelta(microseconds=microseconds)


def time_condition(options):
    """Returns --since and --until as an SQL condition on the view `captures`."""
    parts = []
    for time_text, relation in ((options.since, ">="), (options.until, "<=")):
        if time_text is not None:
            parts.append(f"captured_at {relation} TIMESTAMP '{parse_time(time_text):%Y-%m-%d %H:%M:%S.%f}'")
    return " AND ".join(parts) or "true"
