"""Reads a window file without ctprof: lines of JSON, compressed with zstd."""

import recording


class Window:
    """`head` is the window line of the file; `living` and `ended` are lists of Row."""

    def __init__(self, path):
        lines = recording.read_lines(path)
        self.head = next(line for line in lines if line["kind"] == "window")
        self.notes = next(line for line in lines if line["kind"] == "summary")["ctprof"]["notes"]
        self.sources = next(line for line in lines if line["kind"] == "summary")["ctprof"]["sources"]
        self.living = _rows(line for line in lines if line["kind"] == "table" and line["entity"] == "thread")
        self.ended = _rows(line for line in lines if line["kind"] == "exited")

    def ended_by(self, key):
        """Returns a map value of the key -> exited rows."""
        found = {}
        for row in self.ended:
            found.setdefault(row.value(key), []).append(row)
        return found


class Row:
    """A thread: its values at its exit or the end of the window, and when the window opened; None for an unknown value."""

    def __init__(self, values, bases, born):
        self.values, self.bases, self.born = values, bases, born

    def value(self, metric):
        return self.values.get(metric)

    def base(self, metric):
        return 0 if self.born else self.bases.get(metric)


def _rows(blocks):
    rows = []
    for block in blocks:
        columns, bases, born = block["columns"], block.get("bases", {}), set(block.get("born", ()))
        for at in range(len(columns["tid"])):
            rows.append(Row({name: cells[at] for name, cells in columns.items()},
                            {name: cells[at] for name, cells in bases.items()}, block["first_row"] + at in born))
    return rows
