"""What there is to do: which files are read, and which are forgotten, bucket by bucket."""

import collections
import hashlib

from . import walk

# Files that are read and written together: what a killed process has read for nothing.
PART_FILES = 400
SLOTS = 32
DAY_NS = 86_400 * 1_000_000_000


def slot_of(path):
    return hashlib.blake2b(path.encode(), digest_size=2).digest()[0] % SLOTS


def bucket_of(path, mtime_ns):
    return f"{mtime_ns // DAY_NS:06d}-{slot_of(path):02d}"


class Part:
    """Files of one bucket: to read, with what they look like (size, mtime in ns, inode); and to forget."""

    def __init__(self, name, slot, forget=()):
        self.name, self.slot = name, slot
        self.replaced = list(forget)
        self.looks, self.readings, self.bytes = {}, {}, 0
        self.definitions = {}

    def add(self, file, reading):
        self.readings[file] = reading
        self.bytes += sum(map(len, reading.lines))

    def is_read(self):
        return len(self.readings) == len(self.looks)

    def cut(self):
        """What is read so far, as a part of its own; the rest stays."""
        read = Part(self.name, self.slot, self.replaced)
        read.looks = {file: self.looks.pop(file) for file in self.readings}
        read.readings, read.definitions = self.readings, dict(self.definitions)
        self.replaced, self.readings, self.bytes = [], {}, 0
        return read

    def file_rows(self):
        return [{"file": file, "size": look[0], "mtime_ns": look[1], "inode": look[2],
                 "error": self.readings[file].error, "told": self.readings[file].told} for file, look in self.looks.items()]

    def leave_out(self, is_sound):
        """Without the captures of files that the table cannot hold, which is told of them."""
        for reading in self.readings.values():
            if not is_sound(reading.lines):
                reading.lines, reading.error = [], "the index cannot hold what ctprof read from it"

    def definition_rows(self):
        return [{"registry": registry, "metrics": metrics, "names": names} for registry, (metrics, names) in self.definitions.items()]

    def lines(self):
        return (line for reading in self.readings.values() for line in reading.lines)


def parts_of(slot, known, wanted, base):
    """What has to be done with a slot: known (bucket, file, size, mtime in ns, inode), wanted files by path.

    Files that changed are forgotten where they are, and read into the bucket of their day, in this order. Returns parts, and what is gone.
    """
    forget, gone, fresh = collections.defaultdict(list), [], dict(wanted)
    for bucket, file, *look in known:
        if file in wanted:
            if tuple(look) == wanted[file]:
                fresh.pop(file, None)
            else:
                forget[bucket].append(file)
        elif walk.is_gone(file, base):
            forget[bucket].append(file)
            gone.append(file)
    return [Part(name, slot, files) for name, files in sorted(forget.items())] + parts_to_read(slot, fresh), gone


def parts_to_read(slot, fresh):
    by_bucket = collections.defaultdict(list)
    for file in sorted(fresh):
        by_bucket[bucket_of(file, fresh[file][1])].append(file)
    parts = []
    for name, files in sorted(by_bucket.items()):
        for first in range(0, len(files), PART_FILES):
            part = Part(name, slot)
            part.looks = {file: fresh[file] for file in files[first:first + PART_FILES]}
            parts.append(part)
    return parts
