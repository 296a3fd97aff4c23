"""`show HOST`: its newest capture, or the last one by a moment, opened by `ctprof show`."""

import os

from .errors import FleetError, nearest, reason
from .plumbing import ctprof
from .printable import clean
from .question import Question


def run(options, output):
    options.since, options.until = None, options.at
    with Question(options) as question:
        found = question.table.rows(f"SELECT file, capture, captures FROM counted WHERE host = $1 AND {question.where} "
                                    "ORDER BY captured_at DESC, file, capture LIMIT 1", [options.host])
        if not found:
            raise no_such_host(question, options)
        path = path_of(question.place.base, *found[0])
    if options.path:
        output.line(path)
        return 0
    output.flush()
    command = [ctprof(), "show", path, *options.more]
    try:
        os.execvp(command[0], command)
    except OSError as error:
        raise FleetError(f"starting '{command[0]} show': {reason(error)}") from error


def path_of(base, file, capture, captures):
    path = os.path.join(base, file)
    if not os.path.lexists(path):
        raise FleetError(f"'{clean(path)}' is there no more; ctprof fleet index brings the index up to date")
    return path if captures == 1 else f"{path}#{capture}"


def no_such_host(question, options):
    hosts = [host for host, in question.table.rows("SELECT DISTINCT host FROM counted WHERE host IS NOT NULL ORDER BY host")]
    if options.host in hosts:
        return FleetError(f"there is no capture of {clean(options.host)} by {clean(options.at)}")
    near = nearest(options.host, hosts) if len(hosts) <= 20_000 else None
    return FleetError(f"the index has no host '{clean(options.host)}'" + (f"; did you mean {clean(near)}?" if near else ""))
