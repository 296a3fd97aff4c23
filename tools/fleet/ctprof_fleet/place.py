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
import json
import os

from .errors import FleetError, reason

NAME = ".ctprof-fleet"
PARTS = ("buckets", "locks")
SCHEMA = 2
SUFFIX = ".parquet"


class Place:
    """An index, which need not be there yet. Paths in it are relative to the directory it stands in.

    Whoever owns the directory it stands in can put another one in its place at any time. So it is opened once, and what is done in it is done
    by way of that descriptor (`inside`).
    """

    def __init__(self, path):
        self.path = os.path.abspath(path)
        self.base = os.path.dirname(self.path)
        self.inside = None

    @property
    def about_file(self):
        return f"{self.inside}/about.json"

    @property
    def buckets(self):
        return f"{self.inside}/buckets"

    def is_index(self):
        return all(os.path.isdir(os.path.join(self.path, part)) for part in PARTS)

    def exists(self):
        return os.path.exists(os.path.join(self.path, "about.json"))

    def bucket(self, name):
        return f"{self.buckets}/{name}{SUFFIX}"

    def bucket_files(self, slot=None):
        return self.in_buckets(SUFFIX if slot is None else f"-{slot:02d}{SUFFIX}")

    def leftovers(self, slot=None):
        """What somebody was writing who is no more, if the slot is locked."""
        return self.in_buckets(".new" if slot is None else f"-{slot:02d}.new")

    def in_buckets(self, ending):
        return sorted(f"{self.buckets}/{name}" for name in os.listdir(self.buckets) if name.endswith(ending))

    def spill(self):
        return f"{self.inside}/spill-{os.getpid()}"

    def named(self, error):
        """The first line of what went wrong, with names of files that people know."""
        return str(error).strip().splitlines()[0].replace(self.inside, self.path)

    def open(self):
        """Nobody else's index is believed."""
        try:
            held = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except NotADirectoryError as error:
            raise FleetError(f"the index '{self.path}' is no directory; --index names another place") from error
        except OSError as error:
            raise FleetError(f"opening the index '{self.path}': {reason(error)}") from error
        self.check_owner(os.fstat(held))
        self.inside = f"/proc/self/fd/{held}"

    def check_owner(self, found):
        if found.st_uid != os.geteuid():
            raise FleetError(f"the index '{self.path}' belongs to user {found.st_uid}, not to you, so it is not believed; "
                             "make one of your own with: ctprof fleet index FILES --index DIRECTORY")
        if found.st_mode & 0o022:
            raise FleetError(f"others may write to the index '{self.path}', so it is not believed: chmod go-w it")

    def about(self):
        """What about.json says; nothing where there is no such file or it is no index of ours."""
        try:
            with open(self.about_file, encoding="utf-8") as file:
                about = json.load(file)
        except FileNotFoundError:
            return {}
        except (OSError, ValueError):
            return {"schema": None}
        return about if isinstance(about, dict) else {"schema": None}

    def make(self):
        try:
            make_directory(self.path)
            self.open()
            for part in PARTS:
                make_directory(f"{self.inside}/{part}")
        except OSError as error:
            raise FleetError(f"making the index '{self.path}': {reason(error)}; --index names another place for it") from error

    def write_about(self, about):
        write_whole(self.about_file, (json.dumps(about) + "\n").encode())

    def tidy(self):
        """Without what processes left that are no more."""
        for name in os.listdir(self.inside):
            pid = name.removeprefix("spill-").removeprefix("about.json.").removesuffix(".new")
            if pid != name and pid.isdigit() and not os.path.exists(f"/proc/{pid}"):
                remove(f"{self.inside}/{name}")

    def clear(self):
        """Without all that was read. REQUIRES: the index is locked alone."""
        remove(self.about_file)
        for file in self.bucket_files() + self.leftovers():
            os.unlink(file)

    @contextlib.contextmanager
    def locked(self, name="lock", *, alone, wait=True):
        """Yields whether it is locked; without `wait`, it may be somebody else's."""
        held = os.open(f"{self.inside}/{name}", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            try:
                fcntl.flock(held, (fcntl.LOCK_EX if alone else fcntl.LOCK_SH) | (0 if wait else fcntl.LOCK_NB))
            except BlockingIOError:
                yield False
            else:
                yield True
        finally:
            os.close(held)


def make_directory(path):
    """Unless it is there."""
    try:
        os.mkdir(path, mode=0o700)
    except FileExistsError:
        if not os.path.isdir(path):
            raise


def remove(path):
    """A file, or a directory with all in it, if it is there."""
    if os.path.isdir(path) and not os.path.islink(path):
        import shutil  # Loaded where a process was killed.
        shutil.rmtree(path, ignore_errors=True)
    else:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)


def write_whole(path, content):
    """All or nothing, whatever happens: under another name, synced, renamed."""
    temporary = f"{path}.{os.getpid()}.new"
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
    sync_directory(os.path.dirname(path))


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
        candidates = [asked, os.path.join(asked, NAME)]
    else:
        candidates = [os.path.join(directory, NAME) for directory in with_parents(os.getcwd())]
    for candidate in candidates:
        place = Place(candidate)
        if place.exists():
            place.open()
            check_about(place)
            return place
    where = f"in '{asked}'" if asked else "here or in a directory above"
    raise FleetError(f"there is no index {where}; make one with: ctprof fleet index DIRECTORY")


def with_parents(directory):
    yield directory
    while directory != os.path.dirname(directory):
        directory = os.path.dirname(directory)
        yield directory


def check_about(place):
    schema = place.about().get("schema")
    if schema != SCHEMA:
        raise FleetError(f"the index '{place.path}' is of another version ({schema}, this is {SCHEMA}); ctprof fleet index makes it anew")
