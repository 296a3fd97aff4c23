"""Counts of cells that were checked, by kind, and the first cells of each kind that differ."""

import collections
import re
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


# Differences that are known and still open: kind, and where. They are counted apart; a fixed one is to be removed here.
OPEN = [
    # The change of a side of which some runs only have processes of the group that exited, on the screen.
    ("screen change", re.compile(r"compare .* --vs .* pcomm: (sh|sleep): rss")),
    # A process whose name changed by an exec in the window, grouped by name.
    ("change", re.compile(r"show window process\.pcomm: exec_thread: nr_threads")),
]


def is_open(kind, where):
    text = ": ".join(map(str, where))
    return any(kind == name and pattern.match(text) for name, pattern in OPEN)


class Tally:
    def __init__(self):
        self.checked, self.differ, self.open = collections.Counter(), collections.Counter(), collections.Counter()
        self.first = collections.defaultdict(list)

    def check(self, kind, where, product, own, scale=0):
        """Counts a cell; `where` is a tuple such as (file, group, metric). Returns whether both are the same."""
        return self.judge(kind, where, is_same(own, product, scale), product, own)

    def judge(self, kind, where, is_right, product, own):
        self.checked[kind] += cells_in(own)
        if not is_right and is_open(kind, where):
            self.open[kind] += 1
        elif not is_right:
            self.differ[kind] += 1
            if len(self.first[kind]) < FIRST:
                self.first[kind].append(f"{': '.join(map(str, where))}: the product has {printed(product)}, recomputed {printed(own)}")
        return is_right

    def add(self, other):
        self.checked += other.checked
        self.differ += other.differ
        self.open += other.open
        for kind, found in other.first.items():
            self.first[kind] = (self.first[kind] + found)[:FIRST]

    def lines(self):
        """A table of counts, then the first differences of each kind."""
        width = max(map(len, self.checked), default=0)
        found = [f"{kind:{width}}  {count:>9} checked  {self.differ[kind]:>6} differ" for kind, count in sorted(self.checked.items())]
        found.append(f"{'total':{width}}  {sum(self.checked.values()):>9} checked  {sum(self.differ.values()):>6} differ")
        found += [f"{kind}: {count} known differences that are open" for kind, count in sorted(self.open.items())]
        for kind, first in sorted(self.first.items()):
            found += [f"{kind}:", *(f"    {line}" for line in first)]
        return found


def cells_in(value):
    """A map has a cell for each key."""
    return max(1, len(value)) if isinstance(value, dict) and not value.keys() & {"min", "total", "values", "tid"} else 1
