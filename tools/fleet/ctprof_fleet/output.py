"""Writes results: text for people, JSON or CSV for programs."""

import itertools
import json
import sys

from . import printable

# Version of the JSON of all subcommands. Increase it when a member changes its meaning.
SCHEMA = 1


class CsvRows:
    """Ends CSV rows by a newline. The csv writer itself must end them by \\r\\n, so that it quotes fields with a carriage return."""

    def __init__(self, stream):
        self.stream = stream

    def write(self, row):
        self.stream.write(row.removesuffix("\r\n") + "\n")


def looks_like_formula(value):
    """Returns whether a spreadsheet would interpret the text as a formula, by the rule of `ctprof show --csv-safe`."""
    return isinstance(value, str) and (value.startswith(("\t", "\r")) or value.lstrip(" ").startswith(("=", "+", "-", "@")))


class Output:
    def __init__(self, form="text", stream=None, is_csv_safe=False):
        self.format, self.stream, self.is_csv_safe = form, stream or sys.stdout, is_csv_safe
        self.columns = printable.terminal_width()

    def write_line(self, text=""):
        self.stream.write(text + "\n")

    def write_sentence(self, text):
        for line in printable.wrap(text, self.columns):
            self.write_line(line)

    def write_table(self, table):
        """Writes the table, and the names of the columns that did not fit."""
        lines, omitted = table.layout(self.columns)
        for line in lines:
            self.write_line(line)
        if omitted:
            self.write_sentence("not shown for width: " + ", ".join(omitted))

    @staticmethod
    def print_note(text):
        """Prints a note about the result on standard error."""
        print(f"ctprof: {printable.escape_hidden(text)}", file=sys.stderr)

    def write_json(self, value):
        text = json.dumps({"schema": SCHEMA} | printable.replace_non_finite(value), ensure_ascii=False, allow_nan=False, default=str)
        self.stream.write(printable.escape_json(text) + "\n")

    def write_csv(self, headings, rows):
        import csv  # Loaded only for CSV output.
        writer = csv.writer(CsvRows(self.stream))
        for row in itertools.chain([headings], rows):
            writer.writerow([self.csv_field(value) for value in row])

    def csv_field(self, value):
        return "'" + value if self.is_csv_safe and looks_like_formula(value) else value

    def flush(self):
        self.stream.flush()
