"""Counts checked cells by kind, and stores the first differences of each kind."""

import collections
from fractions import Fraction

# Numbers in JSON are doubles with 17 digits.
PRECISION = Fraction(1, 10**12)
FIRST = 5


def is_number(value):
    return isinstance(value, (int, float, Fraction)) and not isinstance(value, bool)


def is_same(recomputed, found, scale=0):
    """Returns whether both values are equal; the last digits may differ, also those of `scale`, the size of subtracted values."""
    if isinstance(recomputed, dict):
        return isinstance(found, dict) and recomputed.keys() == found.keys() and all(is_same(recomputed[key], found[key], scale) for key in recomputed)
    if not is_number(recomputed):
        return recomputed == found
    return is_number(found) and abs(Fraction(found) - Fraction(recomputed)) <= max(abs(Fraction(recomputed)), scale) * PRECISION


def is_between(minimum, found, maximum):
    """Returns whether a number lies between two non-negative numbers, within the precision."""
    found = Fraction(found)
    return minimum <= found * (1 + PRECISION) and found <= maximum * (1 + PRECISION)


def format_value(value):
    return str(float(value)) if isinstance(value, Fraction) else repr(value)


class Tally:
    def __init__(self):
        self.checked, self.differ = collections.Counter(), collections.Counter()
        self.first = collections.defaultdict(list)

    def check(self, kind, where, product, recomputed, scale=0):
        """Counts a cell; `where` is a tuple such as (file, group, metric). Returns whether both values are equal."""
        return self.judge(kind, where, is_same(recomputed, product, scale), product, recomputed)

    def judge(self, kind, where, is_right, product, recomputed):
        self.checked[kind] += count_cells(recomputed)
        if not is_right:
            self.differ[kind] += 1
            if len(self.first[kind]) < FIRST:
                self.first[kind].append(f"{': '.join(map(str, where))}: ctprof reports {format_value(product)}, recomputed {format_value(recomputed)}")
        return is_right

    def add(self, other):
        self.checked += other.checked
        self.differ += other.differ
        for kind, found in other.first.items():
            self.first[kind] = (self.first[kind] + found)[:FIRST]

    def lines(self):
        """Returns a table of counts, then the first differences of each kind."""
        width = max(map(len, self.checked), default=0)
        found = [f"{kind:{width}}  {count:>9} checked  {self.differ[kind]:>6} differ" for kind, count in sorted(self.checked.items())]
        found.append(f"{'total':{width}}  {sum(self.checked.values()):>9} checked  {sum(self.differ.values()):>6} differ")
        for kind, first in sorted(self.first.items()):
            found += [f"{kind}:", *(f"    {line}" for line in first)]
        return found


def count_cells(value):
    """Returns the number of cells; a map has a cell for each key."""
    return max(1, len(value)) if isinstance(value, dict) and not value.keys() & {"min", "total", "values", "tid"} else 1
