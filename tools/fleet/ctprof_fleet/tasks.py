"""Plans the work on an index: which files to read and which to remove, per bucket."""

import collections
import hashlib

from . import walk

# Number of files that are read and written together. A killed process loses at most this much work.
TASK_FILES = 400
SLOTS = 32
DAY_NS = 86_400 * 1_000_000_000


def slot_of(path):
    return hashlib.blake2b(path.encode(), digest_size=2).digest()[0] % SLOTS


def bucket_of(path, mtime_ns):
    return f"{mtime_ns // DAY_NS:06d}-{slot_of(path):02d}"


class Task:
    """Work on one bucket: files to read, with their state (size, mtime in ns, inode), and files to remove."""

    def __init__(self, name, slot, removed=()):
        self.name, self.slot = name, slot
        self.removed_files = list(removed)
        self.file_states, self.readings, self.bytes = {}, {}, 0
        self.definitions = {}

    def add(self, file, reading):
        self.readings[file] = reading
        self.bytes += sum(map(len, reading.lines))

    def is_read(self):
        return len(self.readings) == len(self.file_states)

    def split_read_files(self):
        """Moves the files that have been read to a new task and returns it; the others remain."""
        read = Task(self.name, self.slot, self.removed_files)
        read.file_states = {file: self.file_states.pop(file) for file in self.readings}
        read.readings, read.definitions = self.readings, dict(self.definitions)
        self.removed_files, self.readings, self.bytes = [], {}, 0
        return read

    def file_rows(self):
        return [{"file": file, "size": state[0], "mtime_ns": state[1], "inode": state[2],
                 "error": self.readings[file].error, "told": self.readings[file].notes} for file, state in self.file_states.items()]

    def exclude_unstorable(self, is_storable):
        """Removes the captures of files that the table cannot store, and records an error for these files."""
        for reading in self.readings.values():
            if not is_storable(reading.lines):
                reading.lines, reading.error = [], "the index cannot store its captures"

    def definition_rows(self):
        return [{"registry": registry, "metrics": metrics, "names": names} for registry, (metrics, names) in self.definitions.items()]

    def lines(self):
        return (line for reading in self.readings.values() for line in reading.lines)


def plan_tasks(slot, known, wanted, base):
    """Returns the tasks for a slot, and its missing files. `known`: (bucket, file, size, mtime in ns, inode); `wanted`: states by path.

    A changed file is first removed from its bucket and then read into the bucket of its day.
    """
    removed, missing, files_to_read = collections.defaultdict(list), [], dict(wanted)
    for bucket, file, *state in known:
        if file in wanted:
            if tuple(state) == wanted[file]:
                files_to_read.pop(file, None)
            else:
                removed[bucket].append(file)
        elif walk.is_missing(file, base):
            removed[bucket].append(file)
            missing.append(file)
    return [Task(name, slot, files) for name, files in sorted(removed.items())] + plan_reading(slot, files_to_read), missing


def plan_reading(slot, files_to_read):
    by_bucket = collections.defaultdict(list)
    for file in sorted(files_to_read):
        by_bucket[bucket_of(file, files_to_read[file][1])].append(file)
    tasks = []
    for name, files in sorted(by_bucket.items()):
        for first in range(0, len(files), TASK_FILES):
            task = Task(name, slot)
            task.file_states = {file: files_to_read[file] for file in files[first:first + TASK_FILES]}
            tasks.append(task)
    return tasks
