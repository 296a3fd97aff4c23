"""`show HOST`: opens its newest capture, or the last one before a given time, with `ctprof show`."""

import os

from .errors import FleetError, find_nearest, system_reason
from .subcommands import ctprof_path
from .printable import escape_hidden
from .query import Query


def run(options, output):
    options.since, options.until = None, options.at
    with Query(options) as index_query:
        found = index_query.table.fetch_rows(f"SELECT file, capture, captures FROM counted WHERE host = $1 AND {index_query.condition} "
                                    "ORDER BY captured_at DESC, file, capture LIMIT 1", [options.host])
        if not found:
            raise unknown_host_error(index_query, options)
        path = capture_path(index_query.index_dir.base, *found[0])
    if options.path:
        output.write_line(path)
        return 0
    output.flush()
    command = [ctprof_path(), "show", path, *options.more]
    try:
        os.execvp(command[0], command)
    except OSError as error:
        raise FleetError(f"starting '{command[0]} show': {system_reason(error)}") from error


def capture_path(base, file, capture, captures):
    path = os.path.join(base, file)
    if not os.path.lexists(path):
        raise FleetError(f"'{escape_hidden(path)}' no longer exists; update the index with: ctprof fleet index")
    return path if captures == 1 else f"{path}#{capture}"


def unknown_host_error(index_query, options):
    hosts = [host for host, in index_query.table.fetch_rows("SELECT DISTINCT host FROM counted WHERE host IS NOT NULL ORDER BY host")]
    if options.host in hosts:
        return FleetError(f"there is no capture of {escape_hidden(options.host)} up to {escape_hidden(options.at)}")
    nearest = find_nearest(options.host, hosts) if len(hosts) <= 20_000 else None
    return FleetError(f"the index has no host '{escape_hidden(options.host)}'" + (f"; did you mean {escape_hidden(nearest)}?" if nearest else ""))
