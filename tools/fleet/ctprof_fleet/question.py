"""What every question begins with: the index, the metrics, which captures are looked at, and the heading that says so."""

import functools

from . import place as places
from .database import moment
from .metrics import Metrics
from .printable import clean, count
from .views import NEEDED, Table


class Question:
    def __init__(self, options, views=NEEDED):
        self.options = options
        self.place = places.find(options.index)
        self.table = Table(self.place, views)
        self.where = span_of(options)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.table.connection.close()

    def metrics(self):
        return Metrics(self.table)

    @functools.cached_property
    def scope(self):
        """What was looked at."""
        query = f"""
            SELECT count(DISTINCT host), count(*), count(*) FILTER (host IS NULL), strftime(min(captured_at), '%Y-%m-%d %H:%M:%S'),
                   strftime(max(captured_at), '%Y-%m-%d %H:%M:%S'), (SELECT count(*) FROM left_out)
            FROM (SELECT file, capture, host, {moment('captured_at_ns')} AS captured_at FROM seen WHERE row = 'capture')
            WHERE {self.table.counts} AND {self.where}"""
        names = ("hosts", "captures", "without_host", "first", "last", "left_out")
        return dict(zip(names, self.table.one(query)))

    def heading(self, scope):
        span = f"{scope['first']}Z" if scope["first"] == scope["last"] else f"{scope['first']}Z to {scope['last']}Z"
        said = [count(scope["hosts"], "host"), count(scope["captures"], "capture")] + ([span] if scope["first"] else [])
        if scope["left_out"]:
            said.append(f"{count(scope['left_out'], 'file')} left out")
        return f"{clean(self.place.base)}   " + "   ".join(said)

    def also(self, output, scope):
        if scope["without_host"]:
            output.sentence(f"{count(scope['without_host'], 'capture')} {'does' if scope['without_host'] == 1 else 'do'} not say of which host")


def span_of(options):
    """In SQL, over the view `captures`."""
    if options.since is None and options.until is None:
        return "true"
    from .when import condition  # Loaded where there is anything to read.
    return condition(options)
