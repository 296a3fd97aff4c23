"""Parses printed numbers such as `461.073KiB`, `1.906s`, `29.1K`, `8.01ticks/s` into units of the metric, with their precision.

    parse_number("1.906s", "ns")     -> (1906000000, 500000)    # the number, and half a unit of its last digit
"""

import re
from fractions import Fraction

THOUSANDS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "P": 10**15, "E": 10**18}
BINARY = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "Pi": 2**50, "Ei": 2**60}
TIMES = {"ns": 1, "us": 10**3, "µs": 10**3, "ms": 10**6, "s": 10**9, "m": 60 * 10**9, "min": 60 * 10**9, "h": 3600 * 10**9}
# Units of metrics, in ns or bytes.
OF_TIME = {"ns": 1, "us": 10**3}
OF_SIZE = {"bytes": 1, "kib": 2**10}
NUMBER = re.compile(r"([-+]?)(\d+(?:\.\d+)?)([^\d.]*)")


def factor_of(suffix, unit):
    """Returns the factor for the number; None for an unknown suffix."""
    if unit in OF_TIME:
        return Fraction(TIMES[suffix], OF_TIME[unit]) if suffix in TIMES else None
    if unit in OF_SIZE:
        for end in ("B", ""):
            if suffix.removesuffix(end or "\0") in BINARY:
                return Fraction(BINARY[suffix.removesuffix(end or "\0")], OF_SIZE[unit])
        return Fraction(1, OF_SIZE[unit]) if suffix in ("", "B") else None
    for known in ("ticks", "cpus", "%", "us"):
        if unit != "count" and suffix.endswith(known):
            suffix = suffix.removesuffix(known)
            break
    return Fraction(THOUSANDS[suffix]) if suffix in THOUSANDS else None


def parse_number(text, unit, per_second=False):
    """Returns (value, precision), or None if the text is not a number."""
    found = NUMBER.fullmatch(text.strip())
    if not found:
        return None
    sign, digits, suffix = found.groups()
    if per_second:
        if not suffix.endswith("/s"):
            return None
        suffix = suffix.removesuffix("/s")
    factor = factor_of(suffix, unit)
    if factor is None:
        return None
    last = Fraction(1, 10 ** len(digits.partition(".")[2]))
    return (-1 if sign == "-" else 1) * Fraction(digits) * factor, last / 2 * factor


def is_within(recomputed, found):
    """Returns whether a printed number is the rounded value; halves may be rounded in either direction."""
    value, precision = found
    return abs(Fraction(recomputed) - value) <= precision * Fraction(1001, 1000)
