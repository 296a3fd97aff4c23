"""Where an index is, whose it is, and who may work on it.

    DIRECTORY/.ctprof-fleet/about.json           schema, and what the groups are
    DIRECTORY/.ctprof-fleet/lock                 held (shared) by whoever adds to the index, alone by who makes it anew
    DIRECTORY/.ctprof-fleet/locks/07             held by who works on the buckets of slot 7
    DIRECTORY/.ctprof-fleet/buckets/DAY-07.parquet   the rows of files of one day (of their mtime) whose path belongs to slot 7

A file's slot is a hash of its path alone, so that who holds a slot has all that the index knows of its files. Locks are the
kernel's (flock): they end with the process that holds them, however it ends. What is in the buckets is believed, so an index that
belongs to another user is refused.
"""

import contextlib
import fcntl
import hashlib
import json
import os
import pathlib
import shutil

from .errors import FleetError, reason

NAME = ".ctprof-fleet"
PARTS = ("buckets", "locks")
SCHEMA = 1
SLOTS = 32
DAY_NS = 86_400 * 1_000_000_000


def slot_of(path):
    return hashlib.blake2b(path.encode(), digest_size=2).digest()[0] % SLOTS


def bucket_of(path, mtime_ns):
    return f"{mtime_ns // DAY_NS:06d}-{slot_of(path):02d}"


class Place:
    """An index, which need not be there yet. Paths in it are relative to the directory it stands in.

    Whoever owns the directory it stands in can put another one in its place at any time. So it is opened once, and what is done in it is done
    by way of that descriptor (`inside`).
    """

    def __init__(self, path):
        self.path = pathlib.Path(os.path.abspath(path))
        self.base = self.path.parent
        self.inside = None

    @property
    def buckets(self):
        return self.inside / "buckets"

    def is_index(self):
        return all((self.path / part).is_dir() for part in PARTS)

    def exists(self):
        return os.path.exists(self.path / "about.json")

    def bucket(self, name):
        return self.buckets / f"{name}.parquet"

    def bucket_files(self, slot=None):
        pattern = "*.parquet" if slot is None else f"*-{slot:02d}.parquet"
        return sorted(self.buckets.glob(pattern))

    def spill(self):
        return self.inside / f"spill-{os.getpid()}"

    def named(self, error):
        """The first line of what went wrong, with names of files that people know."""
        return str(error).strip().splitlines()[0].replace(str(self.inside), str(self.path))

    def open(self):
        """Nobody else's index is believed."""
        try:
            held = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except NotADirectoryError as error:
            raise FleetError(f"the index '{self.path}' is no directory; --index names another place") from error
        except OSError as error:
            raise FleetError(f"opening the index '{self.path}': {reason(error)}") from error
        self.check_owner(os.fstat(held))
        self.inside = pathlib.Path(f"/proc/self/fd/{held}")

    def check_owner(self, found):
        if found.st_uid != os.geteuid():
            raise FleetError(f"the index '{self.path}' belongs to user {found.st_uid}, not to you, so it is not believed; "
                             "make one of your own with: ctprof fleet index FILES --index DIRECTORY")
        if found.st_mode & 0o022:
            raise FleetError(f"others may write to the index '{self.path}', so it is not believed: chmod go-w it")

    def about(self):
        """What about.json says; nothing where there is no such file or it is no index of ours."""
        try:
            with open(self.inside / "about.json", encoding="utf-8") as file:
                about = json.load(file)
        except FileNotFoundError:
            return {}
        except (OSError, ValueError):
            return {"schema": None}
        return about if isinstance(about, dict) else {"schema": None}

    def make(self):
        try:
            self.path.mkdir(mode=0o700, exist_ok=True)
            self.open()
            for part in PARTS:
                (self.inside / part).mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            raise FleetError(f"making the index '{self.path}': {reason(error)}; --index names another place for it") from error

    def write_about(self, about):
        write_whole(self.inside / "about.json", (json.dumps(about) + "\n").encode())

    def tidy(self):
        """Without what processes left that are no more."""
        for left in [*self.inside.glob("spill-*"), *self.inside.glob("about.json.*.new")]:
            pid = left.name.removeprefix("spill-").removeprefix("about.json.").removesuffix(".new")
            if pid.isdigit() and not os.path.exists(f"/proc/{pid}"):
                shutil.rmtree(left, ignore_errors=True) if left.is_dir() else left.unlink(missing_ok=True)

    def clear(self):
        """Without all that was read. REQUIRES: the index is locked alone."""
        (self.inside / "about.json").unlink(missing_ok=True)
        for file in self.buckets.iterdir():
            if file.suffix in (".parquet", ".new"):
                file.unlink()

    @contextlib.contextmanager
    def locked(self, name="lock", *, alone, wait=True):
        """Yields whether it is locked; without `wait`, it may be somebody else's."""
        held = os.open(self.inside / name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            try:
                fcntl.flock(held, (fcntl.LOCK_EX if alone else fcntl.LOCK_SH) | (0 if wait else fcntl.LOCK_NB))
            except BlockingIOError:
                yield False
            else:
                yield True
        finally:
            os.close(held)


def write_whole(path, content):
    """All or nothing, whatever happens: under another name, synced, renamed."""
    temporary = path.with_name(f"{path.name}.{os.getpid()}.new")
    with open(temporary, "wb") as file:
        file.write(content)
    publish(temporary, path)


def publish(temporary, path):
    file = os.open(temporary, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(file)
    finally:
        os.close(file)
    os.replace(temporary, path)
    sync_directory(path.parent)


def sync_directory(path):
    directory = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


def find(given):
    """The index that a question is asked of: --index DIR (or the directory it stands in), CTPROF_FLEET, or of the directory we are in or
    of one above it."""
    asked = given or os.environ.get("CTPROF_FLEET")
    if asked:
        candidates = [pathlib.Path(asked), pathlib.Path(asked) / NAME]
    else:
        here = pathlib.Path(os.getcwd())
        candidates = [directory / NAME for directory in (here, *here.parents)]
    for candidate in candidates:
        place = Place(candidate)
        if place.exists():
            place.open()
            check_about(place)
            return place
    where = f"in '{asked}'" if asked else "here or in a directory above"
    raise FleetError(f"there is no index {where}; make one with: ctprof fleet index DIRECTORY")


def check_about(place):
    schema = place.about().get("schema")
    if schema != SCHEMA:
        raise FleetError(f"the index '{place.path}' is of another version ({schema}, this is {SCHEMA}); ctprof fleet index makes it anew")
