"""Where answers go: text for people, or JSON or CSV for programs."""

import itertools
import json
import sys

from . import printable

# Of the JSON of every verb; a change of meaning counts it up.
SCHEMA = 1


class Rows:
    """Lines that end as ours do; the writer quotes what its own ends are made of, and a carriage return must be quoted."""

    def __init__(self, stream):
        self.stream = stream

    def write(self, row):
        self.stream.write(row.removesuffix("\r\n") + "\n")


def looks_like_formula(value):
    """Whether a spreadsheet would take the text for a formula, as `ctprof show --csv-safe` decides it."""
    return isinstance(value, str) and (value.startswith(("\t", "\r")) or value.lstrip(" ").startswith(("=", "+", "-", "@")))


class Output:
    def __init__(self, form="text", stream=None, is_csv_safe=False):
        self.format, self.stream, self.is_csv_safe = form, stream or sys.stdout, is_csv_safe
        self.columns = printable.terminal_width()

    def line(self, text=""):
        self.stream.write(text + "\n")

    def sentence(self, text):
        for line in printable.wrapped(text, self.columns):
            self.line(line)

    def table(self, table):
        """Its lines; and which columns had no room."""
        lines, gone = table.lines(self.columns)
        for line in lines:
            self.line(line)
        if gone:
            self.sentence("not shown for width: " + ", ".join(gone))

    @staticmethod
    def note(text):
        """About the answer, not a part of it."""
        print(f"ctprof: {printable.clean(text)}", file=sys.stderr)

    def json(self, value):
        text = json.dumps({"schema": SCHEMA} | printable.finite(value), ensure_ascii=False, allow_nan=False, default=str)
        self.stream.write(printable.escaped(text) + "\n")

    def csv(self, headings, rows):
        import csv  # Loaded where it is asked for.
        writer = csv.writer(Rows(self.stream))
        for row in itertools.chain([headings], rows):
            writer.writerow([self.csv_field(value) for value in row])

    def csv_field(self, value):
        return "'" + value if self.is_csv_safe and looks_like_formula(value) else value

    def flush(self):
        self.stream.flush()
