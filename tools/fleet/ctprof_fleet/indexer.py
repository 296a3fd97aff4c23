"""Updates the index: reads each new or changed file once.

Only one indexer works on a slot at a time. A locked slot is processed later, when usually nothing is left to do. Tasks are read in
batches, one process per batch, and a separate thread writes them while the next batch is read. A killed process loses the files that it
was reading; the next owner of the slot's lock removes its unfinished files.
"""

import collections
import concurrent.futures
import contextlib
import os
import time

from . import bucket
from .database import INDEX_MEMORY, connect, duckdb_module
from .errors import FleetError
from .tasks import TASK_FILES, SLOTS, plan_tasks, slot_of
from .index_directory import SUFFIX
from .reader import ReaderCrash, Reader, FileReading
from .views import read_error_text

# Memory limit of a task in bytes. Beyond it, the files that have been read are written, and the others become a new task.
TASK_BYTES = 64 << 20


class Slot:
    """A slot that is locked until all its tasks are written."""

    def __init__(self, number, lock):
        self.number, self.lock, self.unwritten = number, lock, 0

    def finish_task(self):
        self.unwritten -= 1
        if self.unwritten == 0:
            self.lock.close()


class Indexer:
    def __init__(self, index_dir, found, options, progress):
        self.index_dir, self.progress, self.options = index_dir, progress, options
        self.wanted = collections.defaultdict(dict)
        for file, state in found.files.items():
            self.wanted[slot_of(file)][file] = state
        self.read_files, self.missing, self.notes = 0, [], []
        self.batch, self.writing = [], {}
        self.connection = connect(index_dir.spill_directory(), INDEX_MEMORY)
        self.writer = concurrent.futures.ThreadPoolExecutor(1)

    def run(self):
        try:
            waiting = [slot for slot in self.slots_with_work() if not self.process_slot(slot, wait=False)]
            self.finish_batch()
            for slot in waiting:
                self.process_slot(slot, wait=True)
                self.finish_batch()
        except duckdb_module().Error as error:
            raise FleetError(read_error_text(self.index_dir, error)) from error
        finally:
            self.writer.shutdown(cancel_futures=True)
            self.connection.close()

    def slots_with_work(self):
        """Returns slots with work, without locking them: most slots of a current index need no lock."""
        known = collections.defaultdict(list)
        for row in self.read_known_files(self.index_dir.bucket_files()):
            known[slot_of(row[1])].append(row)
        leftovers = {int(file.removesuffix(".new")[-2:]) for file in self.index_dir.unfinished_files()}
        todo = {slot: plan_tasks(slot, known[slot], self.wanted[slot], self.index_dir.base)[0] for slot in range(SLOTS)}
        self.progress.total = sum(len(task.file_states) for tasks in todo.values() for task in tasks)
        slots = [slot for slot in todo if slot in leftovers or todo[slot]]
        first = time.monotonic_ns() // 1_000_000 % max(len(slots), 1)  # Several indexers begin with different slots.
        return slots[first:] + slots[:first]

    def read_known_files(self, files):
        rows = bucket.read_known_files(self.connection, files)
        return [(path.rsplit("/", 1)[-1].removesuffix(SUFFIX), *row) for path, *row in rows]

    def process_slot(self, number, wait):
        """Processes a slot. Returns False if another process has locked it."""
        with contextlib.ExitStack() as stack:
            if not stack.enter_context(self.index_dir.locked(f"locks/{number:02d}", exclusive=True, wait=wait)):
                return False
            for leftover in self.index_dir.unfinished_files(number):
                os.unlink(leftover)
            slot = Slot(number, stack)
            known = self.read_known_files(self.index_dir.bucket_files(number))
            tasks, missing = plan_tasks(slot, known, self.wanted[number], self.index_dir.base)
            if tasks:
                slot.lock = stack.pop_all()
        self.missing += missing
        slot.unwritten = len(tasks)
        self.add_tasks(tasks)
        return True

    def add_tasks(self, tasks):
        for task in tasks:
            if task.file_states:
                self.batch.append(task)
                if sum(len(one.file_states) for one in self.batch) >= TASK_FILES:
                    self.read_batch()
            else:
                self.write(task)

    def read_batch(self):
        batch, self.batch = self.batch, []
        task_of = {file: task for task in batch for file in task.file_states}
        self.read(list(task_of), task_of)

    def read(self, files, task_of):
        """Reads files with one process. If it crashes, reads the halves of the remaining files separately until the responsible file is isolated."""
        if not files:
            return
        left = dict.fromkeys(files)
        reader = Reader(self.index_dir.base, self.options, files)
        try:
            while left:
                file, reading = reader.next_file()
                del left[file]
                self.add_reading(task_of[file], file, reading, reader)
        except ReaderCrash as crash:
            rest = list(left)
            if len(rest) == 1:
                self.add_reading(task_of[rest[0]], rest[0], FileReading(f"while reading it, ctprof was {crash}"), reader)
                return
            self.read(rest[:len(rest) // 2], task_of)
            self.read(rest[len(rest) // 2:], task_of)
        finally:
            reader.stop()

    def add_reading(self, task, file, reading, reader):
        task.add(file, reading)
        self.read_files += 1
        self.notes += [(file, note) for note in reading.notes]
        self.progress.step()
        task.definitions |= reader.definitions
        if task.is_read():
            self.write(task)
        elif task.bytes > TASK_BYTES:
            task.slot.unwritten += 1
            self.write(task.split_read_files())
            self.wait_for_writer(0)

    def finish_batch(self):
        self.read_batch()
        self.wait_for_writer(0)

    def write(self, task):
        self.writing[self.writer.submit(self.write_task, task)] = task
        self.wait_for_writer(TASK_FILES)

    def wait_for_writer(self, most_files):
        """Waits until at most that many files are waiting to be written."""
        while self.writing and (most_files == 0 or sum(len(task.file_states) for task in self.writing.values()) > most_files):
            first = next(iter(self.writing))
            first.result()
            self.writing.pop(first).slot.finish_task()

    def write_bucket(self, connection, task):
        bucket.write(connection, self.index_dir.bucket(task.name), files=task.file_rows(), captures=task.lines(),
                     registries=task.definition_rows(), replaced=task.removed_files)

    def write_task(self, task):
        """Writes a task. Runs in the writer thread."""
        try:
            with self.connection.cursor() as connection:
                try:
                    self.write_bucket(connection, task)
                except (duckdb_module().InvalidInputException, duckdb_module().ConversionException, duckdb_module().OutOfMemoryException):
                    task.exclude_unstorable(lambda lines: bucket.is_storable(connection, lines))
                    self.write_bucket(connection, task)
        except (duckdb_module().Error, OSError) as error:
            raise FleetError(f"writing the index '{self.index_dir.path}': {self.index_dir.describe_error(error)}") from error
