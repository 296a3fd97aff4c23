"""Common parts of all queries: the index, the metrics, the selected captures, and the heading that describes them."""

import functools

from . import index_directory
from .database import sql_timestamp
from .metrics import Metrics
from .printable import escape_hidden, format_count
from .views import NEEDED, IndexTable


class Query:
    def __init__(self, options, views=NEEDED):
        self.options = options
        self.index_dir = index_directory.find_index(options.index)
        self.table = IndexTable(self.index_dir, views)
        self.condition = time_span_condition(options)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.table.connection.close()

    def load_metrics(self):
        return Metrics(self.table)

    @functools.cached_property
    def scope(self):
        """The number of hosts and captures that the query selects, and their time span."""
        query = f"""
            SELECT count(DISTINCT host), count(*), count(*) FILTER (host IS NULL), strftime(min(captured_at), '%Y-%m-%d %H:%M:%S'),
                   strftime(max(captured_at), '%Y-%m-%d %H:%M:%S'), (SELECT count(*) FROM left_out)
            FROM (SELECT file, capture, host, {sql_timestamp('captured_at_ns')} AS captured_at FROM seen WHERE row = 'capture')
            WHERE {self.table.counts} AND {self.condition}"""
        names = ("hosts", "captures", "without_host", "first", "last", "left_out")
        return dict(zip(names, self.table.fetch_one(query)))

    def heading(self, scope):
        span = f"{scope['first']}Z" if scope["first"] == scope["last"] else f"{scope['first']}Z to {scope['last']}Z"
        texts = [format_count(scope["hosts"], "host"), format_count(scope["captures"], "capture")] + ([span] if scope["first"] else [])
        if scope["left_out"]:
            texts.append(f"{format_count(scope['left_out'], 'file')} left out")
        return f"{escape_hidden(self.index_dir.base)}   " + "   ".join(texts)

    def write_captures_without_host(self, output, scope):
        if scope["without_host"]:
            output.write_sentence(f"{format_count(scope['without_host'], 'capture')} {'has' if scope['without_host'] == 1 else 'have'} no host name")


def time_span_condition(options):
    """Returns --since and --until as an SQL condition on the view `captures`."""
    if options.since is None and options.until is None:
        return "true"
    from .times import time_condition  # Loaded only with these options.
    return time_condition(options)
