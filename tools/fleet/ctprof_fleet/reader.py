"""A process that reads files: `ctprof fleet read`.

It is given paths and answers with lines as files are done. What a file came to is a Reading: its lines about captures nearly as they
came (they go on into the table, which is better at JSON), and sentences.
"""

import hashlib
import json
import re
import signal
import subprocess
import threading

from .errors import FleetError, reason
from .plumbing import ctprof

# {"registry":3,"metrics":[...]}: what captures of this process refer to; or {"index":7,"file":"...", ...: of the path with that index.
REGISTRY = re.compile(rb'\{"registry":([0-9]+),')
OF_FILE = re.compile(rb'\{"index":([0-9]+),')
ITS_REGISTRY = re.compile(rb'"registry":([0-9]+),"metrics_left_out":([0-9]+),')
NOT_UNDERSTOOD = "what `ctprof fleet read` answered is not understood: is it of another version?"


# Of a process that one of its files was too much for.
OF_A_FILE = {signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGKILL, signal.SIGSEGV}


class Crash(Exception):
    """The process was ended by one of the files it had not done."""


class Reading:
    """What became of one file."""

    __slots__ = ("lines", "told", "error")

    def __init__(self, error=None):
        self.lines = []
        self.told = []
        self.error = error


class Reader:
    def __init__(self, base, options, paths):
        command = [ctprof(), "fleet", "read", *options]
        try:
            self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=base)
        except OSError as error:
            raise FleetError(f"starting '{command[0]} fleet read': {reason(error)}") from error
        self.paths, self.readings = paths, {}
        self.registries, self.definitions = {}, {}  # By number in this process; by their own name.
        self.unseen = set()  # Numbers of which no capture came yet.
        threading.Thread(target=self.feed, daemon=True).start()

    def feed(self):
        """In a thread of its own: the process may be busy writing to us."""
        try:
            self.process.stdin.write(b"".join(path.encode() + b"\0" for path in self.paths))
            self.process.stdin.close()
        except OSError:
            pass  # It ended; next() says so.

    def next(self):
        """The path of the next file that is done, and its Reading."""
        for line in self.process.stdout:
            if match := OF_FILE.match(line):
                path = self.path_at(int(match[1]))
                reading = self.readings.setdefault(path, Reading())
                if self.add(reading, line, match.end()):
                    return path, self.readings.pop(path)
            elif match := REGISTRY.match(line):
                self.take_definitions(match[1], line)
            else:
                raise FleetError(NOT_UNDERSTOOD)
        status = self.process.wait()
        if -status in OF_A_FILE:
            raise Crash(how_it_ended(status))
        raise FleetError(f"`ctprof fleet read` ended, {how_it_ended(status)}, before all files were read; what was read before is in the index, "
                         "and the next run goes on from there")

    def path_at(self, index):
        if index >= len(self.paths):
            raise FleetError(NOT_UNDERSTOOD)
        return self.paths[index]

    def add(self, reading, line, start):
        """Whether the file is done."""
        if match := ITS_REGISTRY.search(line, start):
            reading.lines.append(self.as_stored(line, match))
            return False
        said = json.loads(line)
        if "error" in said:
            reading.error = str(said["error"])
        if "told" in said:
            reading.told.append(str(said["told"]))
        return said.get("done") is True

    def as_stored(self, line, match):
        """With the definitions' own name, and the groups' figures as one object beside what groups are.

        Strings have no bare quotes in JSON, so what is looked for is nowhere in a name.
        """
        name = self.registries.get(match[1])
        own = line.rfind(b'],"own":[')
        end = line.find(b"]", own + 9)
        if name is None or own < 0 or not line.endswith(b"}}\n"):
            raise FleetError(NOT_UNDERSTOOD)
        if match[1] in self.unseen:
            self.unseen.remove(match[1])
            if len(json.loads(line)["totals"]) != len(self.definitions[name][1]):
                raise FleetError(NOT_UNDERSTOOD)
        return b"".join((line[:match.start()], b'"registry":"', name.encode(), b'","metrics_left_out":', match[2], b",",
                         line[match.end():end + 1], b',"figures":{', line[end + 1:-3].lstrip(b","), b"}}}\n"))

    def take_definitions(self, number, line):
        metrics = json.loads(line)["metrics"]
        text = json.dumps(metrics, ensure_ascii=False)
        name = hashlib.blake2b(text.encode(), digest_size=8).hexdigest()
        self.registries[number] = name
        self.definitions[name] = text, [metric["name"] for metric in metrics]
        self.unseen.add(number)

    def end(self):
        """Whatever it is doing."""
        self.process.kill()
        self.process.stdout.close()
        self.process.wait()


def how_it_ended(status):
    return f"killed by signal {-status}" if status < 0 else f"with status {status}"
