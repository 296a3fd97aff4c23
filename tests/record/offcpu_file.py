"""Reads the results of the recorder off-cpu from a window file, without ctprof: values of threads, and their stacks with names."""

import recording

KINDS = "interruptible", "uninterruptible", "queued", "preempted"
BLOCKED = KINDS[:2]


class Thread:
    """One row. A missing value is 0: the thread never waited."""

    def __init__(self, cells, born, ended, wall_ns):
        self.cells, self.born, self.ended, self.wall_ns = cells, born, ended, wall_ns
        self.stacks = []  # (names from leaf to root, weight)

    def __getattr__(self, name):
        return self.cells.get(name) or 0

    def ns(self, kinds=KINDS):
        return sum(getattr(self, f"offcpu_{kind}_ns") for kind in kinds)

    def count(self, kinds):
        return sum(getattr(self, f"offcpu_{kind}_count") for kind in kinds)

    def weight(self, through=None):
        """Returns the weight of all stacks, or of those through a function."""
        return sum(weight for names, weight in self.stacks if through is None or through in names)


class OffCpuFile:
    """`threads` are all rows, `head` is the window line."""

    def __init__(self, path):
        lines = recording.read_lines(path)
        self.head = next(line for line in lines if line["kind"] == "window")
        self.rows = {}
        for line in lines:
            if line["kind"] == "exited" or (line["kind"] == "table" and line["entity"] == "thread"):
                self._add_rows(line)
        self._add_stacks([line for line in lines if line["kind"] == "stacks"])
        self.threads = list(self.rows.values())

    def _add_rows(self, line):
        columns, born = line["columns"], set(line.get("born", ()))
        for at in range(len(columns["tid"])):
            row = line["first_row"] + at
            cells = {name: values[at] for name, values in columns.items()}
            first, last = line["seen"][at]
            self.rows[row] = Thread(cells, row in born, line["kind"] == "exited", last - first)

    def _add_stacks(self, parts):
        def join_parts(part, key):
            return [value for line in parts if line["part"] == part for value in line[key]]
        strings = join_parts("strings", "text")
        frames = ["[truncated]"] + [strings[name] for name in join_parts("frames", "name")]  # the first one is not in the file
        parents, of_node = [0] + join_parts("nodes", "parent"), [0] + join_parts("nodes", "frame")
        for line in parts:
            if line["part"] != "weights" or line["metric"] != "offcpu_stacks":
                continue
            for row, node, weight in zip(line["row"], line["node"], line["weight"]):
                names = []
                while node:
                    names.append(frames[of_node[node]])
                    node = parents[node]
                self.rows[row].stacks.append((names, weight))

    def threads_of(self, tgid):
        return [thread for thread in self.threads if thread.tgid == tgid]

    def thread(self, tid):
        return next(thread for thread in self.threads if thread.tid == tid)
