"""`python3 DIRECTORY ARGS...`: what `ctprof fleet` starts, and whatever else of ctprof is written in Python."""

import os
import signal
import sys

# At once, whatever it is at: an index is made to be killed. An exception on its way through DuckDB, while that is loaded, would be abort().
signal.signal(signal.SIGINT, lambda *_: os._exit(128 + signal.SIGINT))


def compiled():
    """Where the compiled modules are kept, which makes each start 50 ms shorter: beside the sources a package manager counts the files,
    so in the user's cache. Nowhere, if that is not the user's own: what is there is run."""
    home = os.environ.get("HOME", "")
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.join(home, ".cache")
    try:
        is_own = os.path.isabs(cache) and os.stat(cache).st_uid == os.geteuid() and not os.stat(cache).st_mode & 0o022
    except OSError:
        is_own = False
    return os.path.join(cache, "ctprof", "python") if is_own else None


sys.pycache_prefix = compiled()
sys.dont_write_bytecode = sys.pycache_prefix is None

from ctprof_fleet.command import main  # noqa: E402

status = main(sys.argv[1:])
# What is left is memory, which the system takes back all at once.
os._exit(status)
