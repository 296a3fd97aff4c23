"""Counts of cells that were checked, by kind, and the first cells of each kind that differ."""

import collections
from fractions import Fraction

# Figures in JSON are doubles of 17 digits.
PRECISION = Fraction(1, 10**12)
FIRST = 5


def is_number(value):
    return isinstance(value, (int, float, Fraction)) and not isinstance(value, bool)


def is_same(own, found, scale=0):
    """Whether the product's value is ours; a number may be off in its last digits, and in those of what it is the difference of."""
    if isinstance(own, dict):
        return isinstance(found, dict) and own.keys() == found.keys() and all(is_same(own[key], found[key], scale) for key in own)
    if not is_number(own):
        return own == found
    return is_number(found) and abs(Fraction(found) - Fraction(own)) <= max(abs(Fraction(own)), scale) * PRECISION


def is_between(least, found, most):
    """The same of a number between two that are not negative."""
    found = Fraction(found)
    return least <= found * (1 + PRECISION) and found <= most * (1 + PRECISION)


def printed(value):
    return str(float(value)) if isinstance(value, Fraction) else repr(value)


class Tally:
    def __init__(self):
        self.checked, self.differ = collections.Counter(), collections.Counter()
        self.first = collections.defaultdict(list)

    def check(self, kind, where, product, own, scale=0):
        """Counts a cell; `where` is a tuple such as (file, group, metric). Returns whether both are the same."""
        return self.judge(kind, where, is_same(own, product, scale), product, own)

    def judge(self, kind, where, is_right, product, own):
        self.checked[kind] += cells_in(own)
        if not is_right:
            self.differ[kind] += 1
            if len(self.first[kind]) < FIRST:
                self.first[kind].append(f"{': '.join(map(str, where))}: the product has {printed(product)}, recomputed {printed(own)}")
        return is_right

    def add(self, other):
        self.checked += other.checked
        self.differ += other.differ
        for kind, found in other.first.items():
            self.first[kind] = (self.first[kind] + found)[:FIRST]

    def lines(self):
        """A table of counts, then the first differences of each kind."""
        width = max(map(len, self.checked), default=0)
        found = [f"{kind:{width}}  {count:>9} checked  {self.differ[kind]:>6} differ" for kind, count in sorted(self.checked.items())]
        found.append(f"{'total':{width}}  {sum(self.checked.values()):>9} checked  {sum(self.differ.values()):>6} differ")
        for kind, first in sorted(self.first.items()):
            found += [f"{kind}:", *(f"    {line}" for line in first)]
        return found


def cells_in(value):
    """A map has a cell for each key."""
    return max(1, len(value)) if isinstance(value, dict) and not value.keys() & {"min", "total", "values", "tid"} else 1
