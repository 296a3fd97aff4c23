"""Text for people: names that are safe to print, figures as ctprof writes them, tables that fit."""

import json
import math
import os
import re
import sys
import unicodedata

# What changes how the text around it is shown, and what cannot be seen.
HIDDEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
LONGEST_NAME = 48


def clean(name):
    """On one line, with what has no place in a terminal as \\u{...}."""
    return "".join(f"\\u{{{ord(c):x}}}" if unicodedata.category(c) in HIDDEN else c for c in str(name))


def escaped(made):
    """JSON, with what has no place in a terminal as \\uXXXX."""
    return re.sub(r"[^\n\x20-\x7e]", lambda found: json.dumps(found[0])[1:-1] if unicodedata.category(found[0]) in HIDDEN else found[0], made)


def finite(value):
    """What is no number is nothing, as JSON has it."""
    if isinstance(value, dict):
        return {key: finite(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def wide(c):
    return 0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1


def width(text):
    return len(text) if text.isascii() else sum(map(wide, text))


def cut(text, columns):
    """At most so wide; what is cut shows."""
    if width(text) <= columns:
        return text
    kept, used = [], 0
    for c in text:
        if used + wide(c) > columns - 1:
            break
        kept.append(c)
        used += wide(c)
    return "".join(kept) + "…"


def count(number, one, many=None):
    return f"{number:,} {one if number == 1 else many or one + 's'}".replace(",", " ") if number >= 10_000 else \
        f"{number} {one if number == 1 else many or one + 's'}"


def three_digits(value):
    size = abs(value)
    return f"{value:.0f}" if size >= 99.95 else f"{value:.1f}" if size >= 9.995 else f"{value:.2f}"


def scaled(value, step, suffixes):
    size, at = abs(value), 0
    while size >= 999.5 and at < len(suffixes) - 1:
        size, value, at = size / step, value / step, at + 1
    if value == 0:
        return "0"
    digits = f"{value:.0f}" if at == 0 and (abs(value) >= 99.95 or value == int(value)) else three_digits(value)
    return digits + suffixes[at]


def number(value, unit=""):
    """Three digits and a suffix: 1.82K, 9.95Ki. A gap is a dash."""
    if value is None or not math.isfinite(value):
        return "-"
    if unit == "bytes":
        return scaled(value, 1024, ["", "Ki", "Mi", "Gi", "Ti", "Pi"])
    if unit == "percent":
        return f"{value:.0f}" if abs(value) >= 99.95 else f"{value:.1f}"
    if value != 0 and abs(value) < 0.1:
        return f"{value:.2g}"
    return scaled(value, 1000, ["", "K", "M", "G", "T", "P"])


def terminal_width():
    """Of the terminal or as COLUMNS says; without either, any."""
    if sys.stdout.isatty() or os.environ.get("COLUMNS", "").isdigit():
        import shutil  # Loaded where there is a terminal.
        return shutil.get_terminal_size((80, 24)).columns
    return 120


class Table:
    """Columns two blanks apart. The first `texts` columns are names, to the left; the others figures, to the right."""

    def __init__(self, headings, texts=1):
        self.headings, self.texts, self.rows = headings, texts, []

    def add(self, *cells):
        self.rows.append([clean(cell) for cell in cells])

    def lines(self, columns):
        """In so many columns: names are cut first, then columns go from the right; returns lines, and the headings that went."""
        shown = len(self.headings)
        while True:
            table = [row[:shown] for row in [self.headings, *self.rows]]
            widths = [max(width(row[at]) for row in table) for at in range(shown)]
            self.squeeze(widths, columns)
            if sum(widths) + 2 * (shown - 1) <= columns or shown <= self.texts + 1:
                return [self.line(row, widths) for row in table], self.headings[shown:]
            shown -= 1

    def squeeze(self, widths, columns):
        for at in range(self.texts):
            widths[at] = min(widths[at], LONGEST_NAME)
        over = sum(widths) + 2 * (len(widths) - 1) - columns
        for at in reversed(range(self.texts)):
            less = min(max(over, 0), max(widths[at] - 12, 0))
            widths[at] -= less
            over -= less

    def line(self, row, widths):
        cells = [cut(cell, room) for cell, room in zip(row, widths)]
        padded = [cell + " " * (room - width(cell)) if at < self.texts else " " * (room - width(cell)) + cell
                  for at, (cell, room) in enumerate(zip(cells, widths))]
        return "  ".join(padded).rstrip()


def wrapped(sentence, columns):
    """A sentence on as many lines as it takes."""
    lines, line = [], ""
    for word in sentence.split(" "):
        if line and width(line) + 1 + width(word) > columns:
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}" if line else word
    return lines + [line]
