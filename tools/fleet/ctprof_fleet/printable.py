"""Text for people: names that are safe to print, numbers in ctprof's format, tables that fit the terminal."""

import json
import math
import os
import re
import sys
import unicodedata

# Unicode categories of characters that are invisible or change how other text is shown.
HIDDEN_CATEGORIES = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
MAX_NAME_WIDTH = 48


def escape_hidden(name):
    """Returns the text on one line, with hidden characters as \\u{...}."""
    return "".join(f"\\u{{{ord(c):x}}}" if unicodedata.category(c) in HIDDEN_CATEGORIES else c for c in str(name))


def escape_json(text):
    """Returns JSON text with hidden characters as \\uXXXX."""
    def escape(found):
        return json.dumps(found[0])[1:-1] if unicodedata.category(found[0]) in HIDDEN_CATEGORIES else found[0]

    return re.sub(r"[^\n\x20-\x7e]", escape, text)


def replace_non_finite(value):
    """Replaces NaN and infinities by None, which JSON can represent."""
    if isinstance(value, dict):
        return {key: replace_non_finite(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [replace_non_finite(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def character_width(c):
    return 0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1


def display_width(text):
    return len(text) if text.isascii() else sum(map(character_width, text))


def truncate(text, columns):
    """Truncates text to a width in columns. An ellipsis marks the end."""
    if display_width(text) <= columns:
        return text
    kept, used = [], 0
    for c in text:
        if used + character_width(c) > columns - 1:
            break
        kept.append(c)
        used += character_width(c)
    return "".join(kept) + "…"


def format_count(number, one, many=None):
    return f"{number:,} {one if number == 1 else many or one + 's'}".replace(",", " ") if number >= 10_000 else \
        f"{number} {one if number == 1 else many or one + 's'}"


def format_three_digits(value):
    size = abs(value)
    return f"{value:.0f}" if size >= 99.95 else f"{value:.1f}" if size >= 9.995 else f"{value:.2f}"


def format_scaled(value, step, suffixes):
    size, at = abs(value), 0
    while size >= 999.5 and at < len(suffixes) - 1:
        size, value, at = size / step, value / step, at + 1
    if value == 0:
        return "0"
    digits = f"{value:.0f}" if at == 0 and (abs(value) >= 99.95 or value == int(value)) else format_three_digits(value)
    return digits + suffixes[at]


def format_number(value, unit=""):
    """Formats a number with three digits and a suffix: 1.82K, 9.95Ki. A gap is a dash."""
    if value is None or not math.isfinite(value):
        return "-"
    if unit == "bytes":
        return format_scaled(value, 1024, ["", "Ki", "Mi", "Gi", "Ti", "Pi"])
    if unit == "percent":
        return f"{value:.0f}" if abs(value) >= 99.95 else f"{value:.1f}"
    if value != 0 and abs(value) < 0.1:
        return f"{value:.2g}"
    return format_scaled(value, 1000, ["", "K", "M", "G", "T", "P"])


def terminal_width():
    """Returns the width of the terminal or COLUMNS, otherwise 120."""
    if sys.stdout.isatty() or os.environ.get("COLUMNS", "").isdigit():
        import shutil  # Loaded only for a terminal.
        return shutil.get_terminal_size((80, 24)).columns
    return 120


class Table:
    """A table with two blanks between columns. The first `texts` columns are left-aligned names, the others right-aligned numbers."""

    def __init__(self, headings, texts=1):
        self.headings, self.texts, self.rows = headings, texts, []

    def add(self, *cells):
        self.rows.append([escape_hidden(cell) for cell in cells])

    def layout(self, columns):
        """Returns lines of at most `columns` columns, and the omitted headings. Truncates names first, then omits columns from the right."""
        shown = len(self.headings)
        while True:
            table = [row[:shown] for row in [self.headings, *self.rows]]
            widths = [max(display_width(row[at]) for row in table) for at in range(shown)]
            self.shrink_names(widths, columns)
            if sum(widths) + 2 * (shown - 1) <= columns or shown <= self.texts + 1:
                return [self.format_row(row, widths) for row in table], self.headings[shown:]
            shown -= 1

    def shrink_names(self, widths, columns):
        for at in range(self.texts):
            widths[at] = min(widths[at], MAX_NAME_WIDTH)
        excess = sum(widths) + 2 * (len(widths) - 1) - columns
        for at in reversed(range(self.texts)):
            less = min(max(excess, 0), max(widths[at] - 12, 0))
            widths[at] -= less
            excess -= less

    def format_row(self, row, widths):
        cells = [truncate(cell, cell_width) for cell, cell_width in zip(row, widths)]
        padded = [cell + " " * (cell_width - display_width(cell)) if at < self.texts else " " * (cell_width - display_width(cell)) + cell
                  for at, (cell, cell_width) in enumerate(zip(cells, widths))]
        return "  ".join(padded).rstrip()


def wrap(sentence, columns):
    """Returns the lines of a wrapped sentence."""
    lines, line = [], ""
    for word in sentence.split(" "):
        if line and display_width(line) + 1 + display_width(word) > columns:
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}" if line else word
    return lines + [line]
