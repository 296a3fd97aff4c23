"""`index` at work: the table is brought up to date, and every file read once.

A slot is worked on by one indexer at a time. One that is taken is left for later, when there will be nothing to do. Parts are read in
batches, a process each, and written by a thread of its own while the next ones are being read. A process that is killed loses what it
was reading; what it left is taken away by who has the slot next.
"""

import collections
import concurrent.futures
import contextlib
import os
import time

from . import bucket
from .database import INDEX_MEMORY, connect, duckdb_module
from .errors import FleetError
from .parts import PART_FILES, SLOTS, parts_of, slot_of
from .place import SUFFIX
from .reader import Crash, Reader, Reading
from .views import unreadable

# What of a part is kept in memory; beyond it what was read is written and the rest is a part of its own.
PART_BYTES = 64 << 20


class Slot:
    """A slot that is locked until all its parts are written."""

    def __init__(self, number, lock):
        self.number, self.lock, self.unwritten = number, lock, 0

    def is_written(self):
        self.unwritten -= 1
        if self.unwritten == 0:
            self.lock.close()


class Indexer:
    def __init__(self, place, found, options, progress):
        self.place, self.progress, self.options = place, progress, options
        self.wanted = collections.defaultdict(dict)
        for file, look in found.files.items():
            self.wanted[slot_of(file)][file] = look
        self.read_files, self.gone, self.told = 0, [], []
        self.batch, self.writing = [], {}
        self.connection = connect(place.spill(), INDEX_MEMORY)
        self.writer = concurrent.futures.ThreadPoolExecutor(1)

    def run(self):
        try:
            waiting = [slot for slot in self.slots_with_work() if not self.work_on(slot, wait=False)]
            self.finish_batch()
            for slot in waiting:
                self.work_on(slot, wait=True)
                self.finish_batch()
        except duckdb_module().Error as error:
            raise FleetError(unreadable(self.place, error)) from error
        finally:
            self.writer.shutdown(cancel_futures=True)
            self.connection.close()

    def slots_with_work(self):
        """Looked at without locks: most slots of a table that is up to date need none."""
        known = collections.defaultdict(list)
        for row in self.known_of(self.place.bucket_files()):
            known[slot_of(row[1])].append(row)
        leftovers = {int(file.removesuffix(".new")[-2:]) for file in self.place.leftovers()}
        todo = {slot: parts_of(slot, known[slot], self.wanted[slot], self.place.base)[0] for slot in range(SLOTS)}
        self.progress.total = sum(len(part.looks) for parts in todo.values() for part in parts)
        slots = [slot for slot in todo if slot in leftovers or todo[slot]]
        first = time.monotonic_ns() // 1_000_000 % max(len(slots), 1)  # So that several indexers do not begin with the same one.
        return slots[first:] + slots[:first]

    def known_of(self, files):
        rows = bucket.known_files(self.connection, files)
        return [(path.rsplit("/", 1)[-1].removesuffix(SUFFIX), *row) for path, *row in rows]

    def work_on(self, number, wait):
        """Whether the slot could be had."""
        with contextlib.ExitStack() as stack:
            if not stack.enter_context(self.place.locked(f"locks/{number:02d}", alone=True, wait=wait)):
                return False
            for leftover in self.place.leftovers(number):
                os.unlink(leftover)
            slot = Slot(number, stack)
            known = self.known_of(self.place.bucket_files(number))
            parts, gone = parts_of(slot, known, self.wanted[number], self.place.base)
            if parts:
                slot.lock = stack.pop_all()
        self.gone += gone
        slot.unwritten = len(parts)
        self.take(parts)
        return True

    def take(self, parts):
        for part in parts:
            if part.looks:
                self.batch.append(part)
                if sum(len(one.looks) for one in self.batch) >= PART_FILES:
                    self.read_batch()
            else:
                self.write(part)

    def read_batch(self):
        batch, self.batch = self.batch, []
        part_of = {file: part for part in batch for file in part.looks}
        self.read(list(part_of), part_of)

    def read(self, files, part_of):
        """With one process. If that crashes, halves of what it did not do are read, until the file that did it is alone."""
        if not files:
            return
        left = dict.fromkeys(files)
        reader = Reader(self.place.base, self.options, files)
        try:
            while left:
                file, reading = reader.next()
                del left[file]
                self.take_reading(part_of[file], file, reading, reader)
        except Crash as crash:
            rest = list(left)
            if len(rest) == 1:
                self.take_reading(part_of[rest[0]], rest[0], Reading(f"reading it, ctprof was {crash}"), reader)
                return
            self.read(rest[:len(rest) // 2], part_of)
            self.read(rest[len(rest) // 2:], part_of)
        finally:
            reader.end()

    def take_reading(self, part, file, reading, reader):
        part.add(file, reading)
        self.read_files += 1
        self.told += [(file, told) for told in reading.told]
        self.progress.step()
        part.definitions |= reader.definitions
        if part.is_read():
            self.write(part)
        elif part.bytes > PART_BYTES:
            part.slot.unwritten += 1
            self.write(part.cut())
            self.await_writer(0)

    def finish_batch(self):
        self.read_batch()
        self.await_writer(0)

    def write(self, part):
        self.writing[self.writer.submit(self.write_part, part)] = part
        self.await_writer(PART_FILES)

    def await_writer(self, most_files):
        """Until no more files than that wait to be written."""
        while self.writing and (most_files == 0 or sum(len(part.looks) for part in self.writing.values()) > most_files):
            first = next(iter(self.writing))
            first.result()
            self.writing.pop(first).slot.is_written()

    def write_bucket(self, connection, part):
        bucket.write(connection, self.place.bucket(part.name), files=part.file_rows(), captures=part.lines(),
                     registries=part.definition_rows(), replaced=part.replaced)

    def write_part(self, part):
        """In the writer's thread."""
        try:
            with self.connection.cursor() as connection:
                try:
                    self.write_bucket(connection, part)
                except (duckdb_module().InvalidInputException, duckdb_module().ConversionException, duckdb_module().OutOfMemoryException):
                    part.leave_out(lambda lines: bucket.is_sound(connection, lines))
                    self.write_bucket(connection, part)
        except (duckdb_module().Error, OSError) as error:
            raise FleetError(f"writing the index '{self.place.path}': {self.place.named(error)}") from error
