"""Finds the files of an index: files below a directory that end in .ctprof.zst, and the files of names and patterns.

Other users may control the directory: this module opens no files, follows no symbolic links below an argument, and excludes and reports
pipes, devices and other special files. Hidden files and directories are skipped: copying tools use them for incomplete files.
"""

import errno
import glob
import os
import stat

from .database import LAST_NS
from .errors import FleetError, system_reason

SUFFIX = ".ctprof.zst"
# Deeper directories are probably a mistake or an attack.
MAX_DEPTH = 64


class FoundFiles:
    """Files by path (relative to the index's parent): (size, mtime in ns, inode); and excluded paths with reasons."""

    def __init__(self):
        self.files = {}
        self.excluded = []

    def exclude(self, path, why):
        self.excluded.append((path, why))


def find_files(arguments, base, skip):
    """Returns the files of all arguments. `skip` is the index itself. REQUIRES: `base` is absolute."""
    found = FoundFiles()
    for argument in arguments:
        for named in expand_pattern(argument):
            add_argument(found, named, base, skip)
    return found


def expand_pattern(argument):
    """Expands a pattern that the shell did not expand. A name that exists is not a pattern."""
    if os.path.lexists(argument) or not glob.has_magic(argument):
        return [argument]
    names = sorted(set(glob_matches(argument)))
    if not names:
        raise FleetError(f"no file matches '{argument}'")
    return names


def glob_matches(pattern):
    """Returns the matches of a pattern like glob, but does not follow symbolic links for **: two links to their own directory would create
    more paths than can be enumerated. Does not recurse per directory, as glob does."""
    head, doubled, tail = f"/{pattern}".partition("/**/")
    if not doubled:
        return glob.glob(pattern)
    tops = glob.glob(head[1:]) if head[1:] else ["/" if pattern.startswith("/") else ""]
    return [match for top in tops for directory in walk_directories(top) for match in glob_matches(os.path.join(glob.escape(directory), tail))]


def walk_directories(top):
    """Yields the directory and those below it, up to MAX_DEPTH."""
    rest = [(top, 0)]
    while rest:
        directory, depth = rest.pop()
        yield directory
        try:
            inside = [entry for entry in os.scandir(directory or ".") if not entry.name.startswith(".") and entry.is_dir(follow_symlinks=False)]
        except OSError:
            continue
        rest += [(os.path.join(directory, entry.name), depth + 1) for entry in inside if depth < MAX_DEPTH]


def add_argument(found, named, base, skip):
    path = os.path.abspath(named)
    try:
        status = os.stat(path) if os.path.isdir(path) else os.lstat(path)
    except OSError as error:
        raise FleetError(f"looking at '{named}': {system_reason(error)}") from error
    if stat.S_ISDIR(status.st_mode):
        add_directory(found, path, base, skip)
    else:
        add_file(found, path, status, base)


def add_directory(found, top, base, skip):
    rest = [(top, 0)]
    while rest:
        directory, depth = rest.pop()
        if directory == skip:
            continue
        try:
            entries = list(os.scandir(directory))
        except OSError as error:
            found.exclude(relative_path(directory, base), f"a directory that cannot be read: {system_reason(error)}")
            continue
        for entry in entries:
            if entry.name.startswith("."):
                continue
            if entry.is_dir(follow_symlinks=False):
                descend(found, rest, entry.path, depth, base)
            elif entry.name.endswith(SUFFIX):
                add_entry(found, entry, base)


def descend(found, rest, path, depth, base):
    if depth < MAX_DEPTH:
        rest.append((path, depth + 1))
    else:
        found.exclude(relative_path(path, base), f"more than {MAX_DEPTH} directories deep")


def add_entry(found, entry, base):
    try:
        status = entry.stat(follow_symlinks=False)
    except OSError as error:
        if error.errno != errno.ENOENT:
            found.exclude(relative_path(entry.path, base), system_reason(error))
        return
    add_file(found, entry.path, status, base)


def add_file(found, path, status, base):
    name = relative_path(path, base)
    if not stat.S_ISREG(status.st_mode):
        found.exclude(name, f"{describe_kind(status.st_mode)}, not a file")
    elif not is_utf8(name):
        found.exclude(name, "its name is not UTF-8, which the index cannot store")
    else:
        found.files[name] = (status.st_size, max(-LAST_NS, min(status.st_mtime_ns, LAST_NS)), status.st_ino)


def describe_kind(mode):
    for is_kind, word in ((stat.S_ISLNK, "a symbolic link"), (stat.S_ISFIFO, "a pipe"), (stat.S_ISSOCK, "a socket"), (stat.S_ISDIR, "a directory")):
        if is_kind(mode):
            return word
    return "a device"


def is_utf8(name):
    """Returns whether the name is UTF-8. os.fsdecode represents other bytes by surrogates."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def relative_path(path, base):
    """Returns a path relative to `base` if it is below it, so that the directory can be moved; otherwise the absolute path."""
    prefix = base.rstrip("/") + "/"
    return path[len(prefix):] if path.startswith(prefix) else path


def is_missing(name, base):
    """Returns whether an indexed file no longer exists. A file that cannot be examined counts as existing."""
    try:
        os.lstat(os.path.join(base, name))
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False
    return False


