"""What is asked of ctprof itself: `ctprof fleet parse`, `match` and `judge`. `ctprof fleet read` has a module of its own, `reader`."""

import os

from .errors import FleetError, reason


def ctprof():
    """The executable: whoever starts us says which; a person who starts us by hand has one in PATH."""
    return os.environ.get("CTPROF", "ctprof")


def ask(*words, given=None):
    """(exit status, what it printed, what it said was wrong). `given`: its standard input, where it reads any."""
    import subprocess  # Loaded where it is needed: most rankings ask nothing.
    command = [ctprof(), "fleet", *words]
    try:
        done = subprocess.run(command, stdin=given, capture_output=True, text=True, check=False)
    except OSError as error:
        raise FleetError(f"starting '{command[0]} fleet {words[0]}': {reason(error)}") from error
    return done.returncode, done.stdout, done.stderr.strip().removeprefix("ctprof: ")
