"""The directory of an index: its files, its owner, and its locks.

    DIRECTORY/.ctprof-fleet/about.json           the schema version, and the key of the groups
    DIRECTORY/.ctprof-fleet/lock                 shared lock for adding files, exclusive lock for rebuilding the index
    DIRECTORY/.ctprof-fleet/locks/07             lock for changing the buckets of slot 7
    DIRECTORY/.ctprof-fleet/buckets/DAY-07.parquet   the rows of files of one day (by mtime) whose path belongs to slot 7

The slot of a file is a hash of only its path, so the owner of a slot's lock controls all data of its files. The kernel (flock)
releases a lock when its process exits for any reason. The contents of buckets are trusted, so an index of another user is refused.
"""

import contextlib
import fcntl
import json
import os

from .errors import FleetError, system_reason

NAME = ".ctprof-fleet"
PARTS = ("buckets", "locks")
SCHEMA = 2
SUFFIX = ".parquet"


class IndexDirectory:
    """An index, which need not exist yet. Paths in it are relative to its parent directory.

    The owner of the parent directory can replace the index at any time. Therefore it is opened once, and all operations use that
    descriptor (`fd_path`).
    """

    def __init__(self, path):
        self.path = os.path.abspath(path)
        self.base = os.path.dirname(self.path)
        self.fd_path = None

    @property
    def about_file(self):
        return f"{self.fd_path}/about.json"

    @property
    def buckets(self):
        return f"{self.fd_path}/buckets"

    def is_index(self):
        return all(os.path.isdir(os.path.join(self.path, part)) for part in PARTS)

    def exists(self):
        return os.path.exists(os.path.join(self.path, "about.json"))

    def bucket(self, name):
        return f"{self.buckets}/{name}{SUFFIX}"

    def bucket_files(self, slot=None):
        return self.list_buckets(SUFFIX if slot is None else f"-{slot:02d}{SUFFIX}")

    def unfinished_files(self, slot=None):
        """Returns files that a killed process left unfinished. REQUIRES: the slot is locked."""
        return self.list_buckets(".new" if slot is None else f"-{slot:02d}.new")

    def list_buckets(self, ending):
        return sorted(f"{self.buckets}/{name}" for name in os.listdir(self.buckets) if name.endswith(ending))

    def spill_directory(self):
        return f"{self.fd_path}/spill-{os.getpid()}"

    def describe_error(self, error):
        """Returns the first line of an error, with the path of the index instead of the descriptor's."""
        return str(error).strip().splitlines()[0].replace(self.fd_path, self.path)

    def open(self):
        """Opens the index. Refuses one that another user owns or can write."""
        try:
            fd = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except NotADirectoryError as error:
            raise FleetError(f"the index '{self.path}' is not a directory; name another place with --index") from error
        except OSError as error:
            raise FleetError(f"opening the index '{self.path}': {system_reason(error)}") from error
        self.check_owner(os.fstat(fd))
        self.fd_path = f"/proc/self/fd/{fd}"

    def check_owner(self, found):
        if found.st_uid != os.geteuid():
            raise FleetError(f"the index '{self.path}' belongs to user {found.st_uid}, not to you, and is refused; "
                             "create your own with: ctprof fleet index FILES --index DIRECTORY")
        if found.st_mode & 0o022:
            raise FleetError(f"other users may write to the index '{self.path}', so it is refused; run chmod go-w on it")

    def read_about(self):
        """Returns the contents of about.json: {} if it does not exist, a schema of None if it is invalid."""
        try:
            with open(self.about_file, encoding="utf-8") as file:
                about = json.load(file)
        except FileNotFoundError:
            return {}
        except (OSError, ValueError):
            return {"schema": None}
        return about if isinstance(about, dict) else {"schema": None}

    def create(self):
        try:
            make_directory(self.path)
            self.open()
            for part in PARTS:
                make_directory(f"{self.fd_path}/{part}")
        except OSError as error:
            raise FleetError(f"creating the index '{self.path}': {system_reason(error)}; name another place with --index") from error

    def write_about(self, about):
        write_atomically(self.about_file, (json.dumps(about) + "\n").encode())

    def remove_leftovers(self):
        """Removes temporary files of processes that no longer exist."""
        for name in os.listdir(self.fd_path):
            pid = name.removeprefix("spill-").removeprefix("about.json.").removesuffix(".new")
            if pid != name and pid.isdigit() and not os.path.exists(f"/proc/{pid}"):
                remove(f"{self.fd_path}/{name}")

    def remove_contents(self):
        """Removes all data. REQUIRES: the index is locked exclusively."""
        remove(self.about_file)
        for file in self.bucket_files() + self.unfinished_files():
            os.unlink(file)

    @contextlib.contextmanager
    def locked(self, name="lock", *, exclusive, wait=True):
        """Yields whether the lock was acquired. Without `wait`, another process may own it."""
        fd = os.open(f"{self.fd_path}/{name}", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            try:
                fcntl.flock(fd, (fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH) | (0 if wait else fcntl.LOCK_NB))
            except BlockingIOError:
                yield False
            else:
                yield True
        finally:
            os.close(fd)


def make_directory(path):
    """Creates the directory unless it exists."""
    try:
        os.mkdir(path, mode=0o700)
    except FileExistsError:
        if not os.path.isdir(path):
            raise


def remove(path):
    """Removes a file, or a directory with its contents, if it exists."""
    if os.path.isdir(path) and not os.path.islink(path):
        import shutil  # Loaded only after a process was killed.
        shutil.rmtree(path, ignore_errors=True)
    else:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)


def write_atomically(path, content):
    """Writes a file atomically: to a temporary name, which is synced and then renamed."""
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


def find_index(option):
    """Returns the index to query: --index DIR (the index or its parent directory), CTPROF_FLEET, or that of the working directory or the
    nearest directory above it."""
    specified = option or os.environ.get("CTPROF_FLEET")
    if specified:
        candidates = [specified, os.path.join(specified, NAME)]
    else:
        candidates = [os.path.join(directory, NAME) for directory in ancestors(os.getcwd())]
    for candidate in candidates:
        index_dir = IndexDirectory(candidate)
        if index_dir.exists():
            index_dir.open()
            check_schema(index_dir)
            return index_dir
    where = f"in '{specified}'" if specified else "here or in a directory above"
    raise FleetError(f"there is no index {where}; create one with: ctprof fleet index DIRECTORY")


def ancestors(directory):
    yield directory
    while directory != os.path.dirname(directory):
        directory = os.path.dirname(directory)
        yield directory


def check_schema(index_dir):
    schema = index_dir.read_about().get("schema")
    if schema != SCHEMA:
        raise FleetError(f"the index '{index_dir.path}' is of another version ({schema}, this is {SCHEMA}); ctprof fleet index rebuilds it")
