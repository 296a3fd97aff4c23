"""Which files are meant: of a directory those that end in .ctprof.zst, of names and patterns what they name.

The directory may be somebody else's: nothing is opened here, no symbolic link is followed below what was named, and what is no
file (a pipe, a device) is left out and told. Hidden files and directories are what copying tools are not done with; they do not count.
"""

import errno
import glob
import os
import stat

from .database import LAST_NS
from .errors import FleetError, reason

SUFFIX = ".ctprof.zst"
# Deeper is a mistake, or somebody's joke.
MAX_DEPTH = 64


class Found:
    """Files by path (relative to the index's directory): (size, mtime in ns, inode). And what was left out: path and why."""

    def __init__(self):
        self.files = {}
        self.left_out = []

    def leave_out(self, path, why):
        self.left_out.append((path, why))


def walk(arguments, base, skip):
    """REQUIRES: `base` is absolute. `skip` is the index itself."""
    found = Found()
    for argument in arguments:
        for named in expanded(argument):
            add(found, named, base, skip)
    return found


def expanded(argument):
    """A pattern that no shell expanded is expanded here; what exists is what it is called."""
    if os.path.lexists(argument) or not glob.has_magic(argument):
        return [argument]
    names = sorted(set(matches(argument)))
    if not names:
        raise FleetError(f"there is no file like '{argument}'")
    return names


def matches(pattern):
    """As glob has them. It follows links for **, of which two to their own directory are more paths than can ever be seen, and calls itself for
    each directory below another."""
    head, doubled, tail = f"/{pattern}".partition("/**/")
    if not doubled:
        return glob.glob(pattern)
    tops = glob.glob(head[1:]) if head[1:] else ["/" if pattern.startswith("/") else ""]
    return [match for top in tops for directory in directories(top) for match in matches(os.path.join(glob.escape(directory), tail))]


def directories(top):
    """It and those below it, no deeper than is looked anyway."""
    rest = [(top, 0)]
    while rest:
        directory, depth = rest.pop()
        yield directory
        try:
            inside = [entry for entry in os.scandir(directory or ".") if not entry.name.startswith(".") and entry.is_dir(follow_symlinks=False)]
        except OSError:
            continue
        rest += [(os.path.join(directory, entry.name), depth + 1) for entry in inside if depth < MAX_DEPTH]


def add(found, named, base, skip):
    path = os.path.abspath(named)
    try:
        status = os.stat(path) if os.path.isdir(path) else os.lstat(path)
    except OSError as error:
        raise FleetError(f"looking at '{named}': {reason(error)}") from error
    if stat.S_ISDIR(status.st_mode):
        below(found, path, base, skip)
    else:
        take(found, path, status, base)


def below(found, top, base, skip):
    rest = [(top, 0)]
    while rest:
        directory, depth = rest.pop()
        if directory == skip:
            continue
        try:
            entries = list(os.scandir(directory))
        except OSError as error:
            found.leave_out(relative(directory, base), f"a directory that cannot be read: {reason(error)}")
            continue
        for entry in entries:
            if entry.name.startswith("."):
                continue
            if entry.is_dir(follow_symlinks=False):
                deeper(found, rest, entry.path, depth, base)
            elif entry.name.endswith(SUFFIX):
                take_entry(found, entry, base)


def deeper(found, rest, path, depth, base):
    if depth < MAX_DEPTH:
        rest.append((path, depth + 1))
    else:
        found.leave_out(relative(path, base), f"more than {MAX_DEPTH} directories deep")


def take_entry(found, entry, base):
    try:
        status = entry.stat(follow_symlinks=False)
    except OSError as error:
        if error.errno != errno.ENOENT:
            found.leave_out(relative(entry.path, base), reason(error))
        return
    take(found, entry.path, status, base)


def take(found, path, status, base):
    name = relative(path, base)
    if not stat.S_ISREG(status.st_mode):
        found.leave_out(name, f"{kind_of(status.st_mode)}, not a file")
    elif not is_text(name):
        found.leave_out(name, "its name is not UTF-8, so the index cannot hold it")
    else:
        found.files[name] = (status.st_size, max(-LAST_NS, min(status.st_mtime_ns, LAST_NS)), status.st_ino)


def kind_of(mode):
    for is_kind, word in ((stat.S_ISLNK, "a symbolic link"), (stat.S_ISFIFO, "a pipe"), (stat.S_ISSOCK, "a socket"), (stat.S_ISDIR, "a directory")):
        if is_kind(mode):
            return word
    return "a device"


def is_text(name):
    """Names that are not UTF-8 come with surrogates in them (os.fsdecode)."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def relative(path, base):
    """Below the index's directory the path from there, so that both can move together; elsewhere the whole."""
    prefix = base.rstrip("/") + "/"
    return path[len(prefix):] if path.startswith(prefix) else path


def is_gone(name, base):
    """Whether a file of the table is there no more; what cannot be looked at may still be there."""
    try:
        os.lstat(os.path.join(base, name))
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False
    return False


