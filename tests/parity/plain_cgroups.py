#!/usr/bin/python3
"""An independent plain reader of cgroups, pressure and sched_ext: the values that a capture should contain.

Takes the source of each metric from the column `source` of metrics.tsv: "<cgroup>/cpu.stat:usage_usec".
Opens files by their whole path, reads them completely, and parses them in the simplest way.

In scope:       expected values of every metric of cgroup, psi and sched_ext, or the reasons why a value is missing.
Out of scope:   threads (plain_reader.py), reading captures (file_json.py), comparing (compare_rows.py).

    plain_cgroups.py [ROOT]    prints what it finds
"""

import csv
import errno
import os
import sys

from plain_reader import missing

METRICS = os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "..", "plugins", "vocabulary", "metrics.tsv")
NO_LIMIT = 2**64 - 1

# Files of a controller are named after it. Every cgroup has these files regardless of its controllers.
FILES_OF_ALL_CGROUPS = ["cgroup.stat", "cpu.stat", "cpu.stat.local", "cpu.pressure", "memory.pressure", "io.pressure", "irq.pressure"]
BANDWIDTH_KEYS = ["nr_periods", "nr_throttled", "throttled_usec", "nr_bursts", "burst_usec"]
DOMAIN_CONTROLLERS = ["memory", "io"]


def vocabulary(plugin):
    """Returns the rows of metrics.tsv for the primary metrics of the plugin."""
    with open(METRICS, encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        return [row for row in rows if row["plugin"] == plugin and row["kind"] == "primary"]


def read(path):
    """Returns the file's bytes, or the error number."""
    try:
        with open(path, "rb", buffering=0) as file:
            return file.readall()
    except OSError as error:
        return error.errno


def words(path):
    text = read(path)
    return text.split() if isinstance(text, bytes) else []


# ---- contents of files ---------------------------------------------------------------------------------------------

def parse_flat_keyed(text):
    return {key.decode(): int(value) for key, value in (line.split(b" ") for line in text.splitlines())}


def io_stat(text, key):
    found = {}
    for line in text.splitlines():
        device, *parts = line.split()
        found |= {device.decode(): int(part.split(b"=")[1]) for part in parts if part.startswith(key.encode() + b"=")}
    return found


def pressure(text, line, part):
    """Returns None if there is no such line. Averages are in hundredths of a percent."""
    for words_of_line in (each.split() for each in text.splitlines()):
        if words_of_line[0] == line.encode():
            values = dict(word.split(b"=") for word in words_of_line[1:])
            return int(values[b"total"]) if part == "total" else round(float(values[part.encode()]) * 100)
    return None


def limit(word):
    return NO_LIMIT if word == b"max" else int(word)


def value_in(text, metric, file, key):
    """Returns the value of the metric in the text, or None if the text does not contain it."""
    if file.endswith(".pressure"):
        return pressure(text, *key.split(":"))
    if file == "io.stat":
        return io_stat(text, key.rpartition(":")[2])
    if key == "<key>":
        return parse_flat_keyed(text)
    if file == "cpu.max":
        return limit(text.split()[int(key.removeprefix("field ")) - 1])
    if key:
        return parse_flat_keyed(text).get(key)
    return limit(text.strip()) if metric["family"] == "limit" else int(text)


# ---- cgroups -------------------------------------------------------------------------------------------------------

class Cgroups:
    """The v2 hierarchy of a tree, as seen from the root of the cgroup namespace."""

    def __init__(self, root="/"):
        self.live = os.path.samefile(root, "/")
        places = (os.path.join(os.fsencode(root), place) for place in (b"sys/fs/cgroup", b"sys/fs/cgroup/unified"))
        self.mount = next((place for place in places if os.path.exists(place + b"/cgroup.controllers")), None)
        self.controllers = words(self.mount + b"/cgroup.controllers") if self.mount else []

    def directory(self, path):
        return self.mount + path

    def all(self):
        return [directory for directory, _, _ in os.walk(self.mount)] if self.mount else []

    def any_has(self, controller, file, key):
        """Returns whether the kernel has the file or key for any cgroup. True if only the root cgroup exists, because it cannot show it."""
        able = [d for d in self.all() if os.path.exists(d + b"/cgroup.type")
                and (not controller or controller.encode() in words(d + b"/cgroup.controllers"))]
        texts = [read(d + b"/" + file.encode()) for d in able]
        return not able or any(isinstance(text, bytes) and (not key or b"\n" + key.encode() + b" " in b"\n" + text) for text in texts)

    def why_missing(self, directory, controller, file, key=None):
        if controller and controller.encode() not in self.controllers:
            return missing("Unsupported")
        if not os.path.exists(directory + b"/cgroup.controllers"):
            return missing("ThreadGone") if self.live else missing("Unsupported")
        if file.endswith(".pressure"):
            known = any(os.path.exists(each + b"/" + file.encode()) for each in self.all())
            return missing("SwitchedOff") if known and words(directory + b"/cgroup.pressure") == [b"0"] else missing("Unsupported")
        if not self.any_has(controller, file, key):
            return missing("Unsupported")
        if not os.path.exists(directory + b"/cgroup.type"):
            return missing("NotApplicable")
        if controller.encode() in words(directory + b"/cgroup.controllers"):
            return missing("Unsupported")
        threaded = words(directory + b"/cgroup.type") == [b"threaded"]
        return missing("NotApplicable") if threaded and controller in DOMAIN_CONTROLLERS else missing("SwitchedOff")

    def cell(self, path, metric):
        """Returns the value, or a Missing, of the cgroup with this path."""
        if metric["applies_to"] == "never":
            return missing("NotApplicable")
        if not self.mount:
            return missing("Unsupported")
        file, _, key = metric["source"].removeprefix("<cgroup>/").partition(":")
        directory = self.directory(path)
        controller = "" if file in FILES_OF_ALL_CGROUPS else file.split(".")[0]
        text = read(directory + b"/" + file.encode())
        if text == errno.EACCES:
            return missing("Denied")
        if not isinstance(text, bytes):
            return self.why_missing(directory, controller, file)
        value = value_in(text, metric, file, key)
        if value is not None:
            return value
        return self.why_missing(directory, "cpu" if key in BANDWIDTH_KEYS else controller, file, key)

    def row(self, path, plugin):
        return {metric["name"]: self.cell(path, metric) for metric in vocabulary(plugin) if metric["entity"] == "cgroup"}


# ---- the host ------------------------------------------------------------------------------------------------------

def host_pressure(root, metric):
    if metric["applies_to"] == "never":
        return missing("NotApplicable")
    path, _, key = metric["source"].partition(":")
    text = read(os.path.join(root, path.lstrip("/")))
    if not isinstance(text, bytes):
        return missing("Unsupported", "SwitchedOff")
    value = pressure(text, *key.split(":"))
    return missing("Unsupported") if value is None else value


def sched_ext(root, metric):
    path, _, key = metric["source"].partition(":")
    path = os.path.join(root, path.lstrip("/"))
    text = read(path)
    if not isinstance(text, bytes):
        loaded = os.path.exists(os.path.join(root, "sys/kernel/sched_ext/root"))
        unloaded = os.path.exists(os.path.join(root, "sys/kernel/sched_ext")) and not loaded
        return missing("NotApplicable") if "/root/" in path and unloaded else missing("Unsupported")
    if key:
        return parse_flat_keyed(text)
    if metric["newtype"] == "CategoricalString":
        return text.strip()
    return int(text) != 0 if metric["newtype"] == "Flag" else int(text)


def read_host(root, plugin):
    read_one = {"psi": host_pressure, "sched_ext": sched_ext}[plugin]
    return {metric["name"]: read_one(root, metric) for metric in vocabulary(plugin) if metric["entity"] == "host"}


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else "/"
    cgroups = Cgroups(root)
    for plugin in ("psi", "sched_ext"):
        print("\n".join(f"{name} = {value!r}" for name, value in read_host(root, plugin).items()))
    for directory in cgroups.all():
        path = directory.removeprefix(cgroups.mount) or b"/"
        print(path)
        for plugin in ("cgroup", "psi"):
            print("\n".join(f"  {name} = {value!r}" for name, value in cgroups.row(path, plugin).items()))


if __name__ == "__main__":
    main()
