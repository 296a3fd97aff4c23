"""A process that reads files: `ctprof fleet read`.

It receives paths and prints lines as files are done. A FileReading is the result for one file: its lines about captures, which are stored
in the table nearly unchanged because DuckDB parses JSON faster, and its messages.
"""

import hashlib
import json
import re
import signal
import subprocess
import threading

from .errors import FleetError, system_reason
from .subcommands import ctprof_path

# {"registry":3,"metrics":[...]}: definitions to which captures of this process refer; {"index":7,"file":"...", ...}: a line about that path.
REGISTRY_LINE = re.compile(rb'\{"registry":([0-9]+),')
FILE_LINE = re.compile(rb'\{"index":([0-9]+),')
CAPTURE_REGISTRY = re.compile(rb'"registry":([0-9]+),"metrics_left_out":([0-9]+),')
UNKNOWN_OUTPUT = "cannot parse the output of `ctprof fleet read`; it may be of another version"


# Signals that a damaged or oversized file can cause.
CRASH_SIGNALS = {signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGKILL, signal.SIGSEGV}


class ReaderCrash(Exception):
    """One of the remaining files crashed the process."""


class FileReading:
    """The result of reading one file."""

    __slots__ = ("lines", "notes", "error")

    def __init__(self, error=None):
        self.lines = []
        self.notes = []
        self.error = error


class Reader:
    def __init__(self, base, options, paths):
        command = [ctprof_path(), "fleet", "read", *options]
        try:
            self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=base)
        except OSError as error:
            raise FleetError(f"starting '{command[0]} fleet read': {system_reason(error)}") from error
        self.paths, self.readings = paths, {}
        self.registries, self.definitions = {}, {}  # By number in this process; by the hash of their text.
        self.unchecked_registries = set()  # Numbers without a capture so far.
        threading.Thread(target=self.write_paths, daemon=True).start()

    def write_paths(self):
        """Writes the paths. Runs in a thread, because the process may block while it writes its output."""
        try:
            self.process.stdin.write(b"".join(path.encode() + b"\0" for path in self.paths))
            self.process.stdin.close()
        except OSError:
            pass  # The process exited; next_file() reports it.

    def next_file(self):
        """Returns the path of the next file that is done, and its FileReading."""
        for line in self.process.stdout:
            if match := FILE_LINE.match(line):
                path = self.path_at(int(match[1]))
                reading = self.readings.setdefault(path, FileReading())
                if self.add_line(reading, line, match.end()):
                    return path, self.readings.pop(path)
            elif match := REGISTRY_LINE.match(line):
                self.add_definitions(match[1], line)
            else:
                raise FleetError(UNKNOWN_OUTPUT)
        status = self.process.wait()
        if -status in CRASH_SIGNALS:
            raise ReaderCrash(describe_exit(status))
        raise FleetError(f"`ctprof fleet read` ended, {describe_exit(status)}, before all files were read; the index contains the files read so far, "
                         "and the next run continues with the others")

    def path_at(self, index):
        if index >= len(self.paths):
            raise FleetError(UNKNOWN_OUTPUT)
        return self.paths[index]

    def add_line(self, reading, line, start):
        """Adds a line. Returns whether the file is done."""
        if match := CAPTURE_REGISTRY.search(line, start):
            reading.lines.append(self.to_table_line(line, match))
            return False
        message = json.loads(line)
        if "error" in message:
            reading.error = str(message["error"])
        if "told" in message:
            reading.notes.append(str(message["told"]))
        return message.get("done") is True

    def to_table_line(self, line, match):
        """Returns the line for the table: with the hash of its definitions, and with the groups' figures as one object.

        JSON strings contain no bare quotes, so the searched texts cannot occur in a name.
        """
        name = self.registries.get(match[1])
        own = line.rfind(b'],"own":[')
        end = line.find(b"]", own + 9)
        if name is None or own < 0 or not line.endswith(b"}}\n"):
            raise FleetError(UNKNOWN_OUTPUT)
        if match[1] in self.unchecked_registries:
            self.unchecked_registries.remove(match[1])
            if len(json.loads(line)["totals"]) != len(self.definitions[name][1]):
                raise FleetError(UNKNOWN_OUTPUT)
        return b"".join((line[:match.start()], b'"registry":"', name.encode(), b'","metrics_left_out":', match[2], b",",
                         line[match.end():end + 1], b',"figures":{', line[end + 1:-3].lstrip(b","), b"}}}\n"))

    def add_definitions(self, number, line):
        metrics = json.loads(line)["metrics"]
        text = json.dumps(metrics, ensure_ascii=False)
        name = hashlib.blake2b(text.encode(), digest_size=8).hexdigest()
        self.registries[number] = name
        self.definitions[name] = text, [metric["name"] for metric in metrics]
        self.unchecked_registries.add(number)

    def stop(self):
        """Kills the process in any state."""
        self.process.kill()
        self.process.stdout.close()
        self.process.wait()


def describe_exit(status):
    return f"killed by signal {-status}" if status < 0 else f"with status {status}"
