"""Runs the internal subcommands `ctprof fleet parse`, `time`, `match`, `judge` and `significance`. The module `reader` runs `ctprof fleet read`."""

import json
import os

from .errors import FleetError, system_reason


def ctprof_path():
    """Returns the executable: the one that started this package, or else the one in PATH."""
    return os.environ.get("CTPROF", "ctprof")


def run_subcommand(*words, stdin=None):
    """Returns (exit status, standard output, error message). `stdin`: the standard input, if the subcommand reads it."""
    import subprocess  # Loaded only if necessary: most rankings run no subcommand.
    command = [ctprof_path(), "fleet", *words]
    try:
        done = subprocess.run(command, stdin=stdin, capture_output=True, text=True, check=False)
    except OSError as error:
        raise FleetError(f"starting '{command[0]} fleet {words[0]}': {system_reason(error)}") from error
    return done.returncode, done.stdout, done.stderr.strip().removeprefix("ctprof: ")


def parse_threshold(alpha, min_shift):
    """Parses the values of --alpha and --min-shift; None: the default. Returns fractions."""
    words = [word for option, value in (("--alpha", alpha), ("--min-shift", min_shift)) if value is not None for word in (option, value)]
    status, answer, message = run_subcommand("significance", *words)
    if status != 0:
        raise FleetError("compare: " + (message or "ctprof fleet significance failed"))
    threshold = json.loads(answer)
    return threshold["alpha"], threshold["min_shift"]
