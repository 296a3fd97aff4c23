"""Moments as people say them, in the forms of ctprof's own --since and --until.

    now, today, yesterday               10 min ago, 2 hours ago, 3d ago
    15:00, yesterday 15:00              2026-11-23, 2026-11-23 15:00, 2026-11-23T15:00:30, the latter two with Z for UTC
    @1790000000                         seconds since 1970

In the host's time zone, like there.
"""

import datetime
import re

from .errors import FleetError
from .printable import clean

SECONDS = {"s": 1, "min": 60, "h": 3600, "d": 86_400, "w": 604_800}
UNITS = {"s": "s", "sec": "s", "second": "s", "min": "min", "minute": "min", "h": "h", "hour": "h", "d": "d", "day": "d", "w": "w", "week": "w"}
AGO = re.compile(r"([0-9]+(?:\.[0-9]+)?) ?([a-z]+?)s? ago")
CLOCK = re.compile(r"(?:(today|yesterday) )?([0-9]{1,2}):([0-9]{2})(?::([0-9]{2}))?")


def parse_when(asked, now=None):
    """A datetime with its zone."""
    now = (now or datetime.datetime.now()).astimezone()
    word = " ".join(asked.lower().split())
    try:
        found = by_word(word, now) or ago(word, now) or clock(word, now) or date(word)
    except (ValueError, OverflowError, OSError):
        found = None
    if found is None:
        raise FleetError(f"'{clean(asked)}' is no moment: 10 min ago, 15:00, yesterday 15:00, 2026-11-23 15:00")
    return found


def by_word(word, now):
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


def ago(word, now):
    match = AGO.fullmatch(word)
    unit = UNITS.get(match[2]) if match else None
    return now - datetime.timedelta(seconds=float(match[1]) * SECONDS[unit]) if unit else None


def clock(word, now):
    match = CLOCK.fullmatch(word)
    if not match:
        return None
    time = datetime.time(int(match[2]), int(match[3]), int(match[4] or 0))
    return datetime.datetime.combine(midnight(now, match[1] or "today").date(), time).astimezone()


def date(word):
    match = re.fullmatch(r"(\d{4}-\d\d-\d\d)(?:[ t](\d\d:\d\d(?::\d\d)?))?(z?)", word)
    if not match or (match[3] and not match[2]):
        return None
    found = datetime.datetime.fromisoformat(f"{match[1]} {match[2] or '00:00'}")
    return found.replace(tzinfo=datetime.timezone.utc) if match[3] else found.astimezone()


def condition(options):
    """In SQL, over the view `captures`."""
    parts = []
    for asked, relation in ((options.since, ">="), (options.until, "<=")):
        if asked is not None:
            moment = parse_when(asked).astimezone(datetime.timezone.utc)
            parts.append(f"captured_at {relation} TIMESTAMP '{moment:%Y-%m-%d %H:%M:%S.%f}'")
    return " AND ".join(parts) or "true"
