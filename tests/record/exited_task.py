"""Reads the file that tests/record/ends.c writes."""


class ExitedTask:
    """The values of a process or thread in a line of the file."""

    def __init__(self, line):
        fields = [int(field) for field in line.split()]
        self.tid, self.cpu_ns, self.minflt, self.majflt, self.voluntary, self.nonvoluntary = fields[:6]
        self.io = fields[6:12]
        self.waited_us, self.waited_minflt, self.waited_majflt, self.waited_voluntary, self.waited_nonvoluntary = fields[12:]
