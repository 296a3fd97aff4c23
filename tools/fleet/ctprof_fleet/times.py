"""Parses points in time in the forms of ctprof's own --since and --until.

    now, today, yesterday               10 min ago, 2 hours ago, 3d ago
    15:00, yesterday 15:00              2026-11-23, 2026-11-23 15:00, 2026-11-23T15:00:30, the latter two with Z for UTC
    @1790000000                         seconds since 1970

Times are in the host's time zone, as in ctprof.
"""

import datetime
import re

from .errors import FleetError
from .printable import escape_hidden

SECONDS = {"s": 1, "min": 60, "h": 3600, "d": 86_400, "w": 604_800}
UNIT_NAMES = {"s": "s", "sec": "s", "second": "s", "min": "min", "minute": "min", "h": "h", "hour": "h", "d": "d", "day": "d", "w": "w", "week": "w"}
AGO = re.compile(r"([0-9]+(?:\.[0-9]+)?) ?([a-z]+?)s? ago")
CLOCK = re.compile(r"(?:(today|yesterday) )?([0-9]{1,2}):([0-9]{2})(?::([0-9]{2}))?")


def parse_time(given_text, now=None):
    """Returns a datetime with a time zone."""
    now = (now or datetime.datetime.now()).astimezone()
    word = " ".join(given_text.lower().split())
    try:
        found = parse_word(word, now) or parse_ago(word, now) or parse_clock(word, now) or parse_date(word)
    except (ValueError, OverflowError, OSError):
        found = None
    if found is None:
        raise FleetError(f"'{escape_hidden(given_text)}' is not a valid time; use 10 min ago, 15:00, yesterday 15:00 or 2026-11-23 15:00")
    return found


def parse_word(word, now):
    if word == "now":
        return now
    if word in ("today", "yesterday"):
        return midnight(now, word)
    if re.fullmatch(r"@[0-9]+", word):
        return datetime.datetime.fromtimestamp(int(word[1:])).astimezone()
    return None


def midnight(now, day="today"):
    date_of = now.date() - datetime.timedelta(days=day == "yesterday")
    return datetime.datetime.combine(date_of, datetime.time()).astimezone()


def parse_ago(word, now):
    match = AGO.fullmatch(word)
    unit = UNIT_NAMES.get(match[2]) if match else None
    return now - datetime.timedelta(seconds=float(match[1]) * SECONDS[unit]) if unit else None


def parse_clock(word, now):
    match = CLOCK.fullmatch(word)
    if not match:
        return None
    time = datetime.time(int(match[2]), int(match[3]), int(match[4] or 0))
    return datetime.datetime.combine(midnight(now, match[1] or "today").date(), time).astimezone()


def parse_date(word):
    match = re.fullmatch(r"(\d{4}-\d\d-\d\d)(?:[ t](\d\d:\d\d(?::\d\d)?))?(z?)", word)
    if not match or (match[3] and not match[2]):
        return None
    found = datetime.datetime.fromisoformat(f"{match[1]} {match[2] or '00:00'}")
    return found.replace(tzinfo=datetime.timezone.utc) if match[3] else found.astimezone()


def time_condition(options):
    """Returns --since and --until as an SQL condition on the view `captures`."""
    parts = []
    for given_text, relation in ((options.since, ">="), (options.until, "<=")):
        if given_text is not None:
            moment = parse_time(given_text).astimezone(datetime.timezone.utc)
            parts.append(f"captured_at {relation} TIMESTAMP '{moment:%Y-%m-%d %H:%M:%S.%f}'")
    return " AND ".join(parts) or "true"
