"""The command line: `ctprof fleet VERB ARGS...`, and what every verb has in common."""

import argparse
import importlib
import os
import signal
import sys

from .errors import FleetError, nearest
from .output import Output
from .printable import clean

VERBS = {
    "index": "read files into a table beside them, each once",
    "rank": "hosts by a figure, the most unusual first",
    "compare": "hosts of one kernel (or another fact) with those of another, and how sure the difference is",
    "top": "groups over all hosts",
    "show": "what a host was doing: its newest capture, opened by ctprof",
    "sql": "a query of your own",
}


class Parser(argparse.ArgumentParser):
    """Mistakes are one sentence of ours."""

    def error(self, message):
        raise FleetError(f"{self.prog}: {message}")


def add_common(parser, formats=("text", "json", "csv")):
    parser.add_argument("--format", choices=formats, default="text", help="for people or for programs")
    if "csv" in formats:
        parser.add_argument("--csv-safe", action="store_true",
                            help="in CSV for spreadsheets: put ' before texts that these would take for a formula, such as =1+1")
    parser.add_argument("--index", metavar="DIR", help="the index; otherwise that of this directory or of one above it")
    parser.add_argument("-v", "--verbose", action="store_true", help="of index: name every file that is left out")


def add_span(parser):
    parser.add_argument("--since", metavar="WHEN", help="captures that end then or later: 10 min ago, yesterday 15:00, 2026-11-23 15:00")
    parser.add_argument("--until", metavar="WHEN", help="captures that end by then")


def parser_of(verb):
    parser = Parser(prog=f"ctprof fleet {verb}", description=VERBS[verb], allow_abbrev=False)
    ADD[verb](parser)
    return parser


def add_index(parser):
    parser.add_argument("files", nargs="+", metavar="DIR|GLOB|FILE")
    parser.add_argument("--group-by", metavar="KEY", help="what groups are: pcomm (default), cgroup, comm")
    parser.add_argument("--jobs", type=whole, metavar="N", help="files read at once; as many as there are CPUs")
    add_common(parser, ("text", "json"))


def add_rank(parser):
    parser.add_argument("figure", nargs="?", metavar="METRIC|EXPR", help="without it, of each host its most unusual headline")
    parser.add_argument("--group", metavar="GROUP", help="of this group alone")
    parser.add_argument("--cohort", metavar="FACT", default="none", help="among hosts that have this in common, such as kernel; all by default")
    parser.add_argument("--limit", type=whole, default=20, metavar="N", help="rows; 0: all")
    add_span(parser)
    add_common(parser)


def add_compare(parser):
    parser.add_argument("--by", metavar="FACT", required=True, help="what makes the sides: kernel, or another fact")
    parser.add_argument("--baseline", metavar="VALUE", help="the side that the others are compared with; the largest by default")
    parser.add_argument("--about", metavar="GROUP|EXPR",
                        help="test the figures of one group by themselves, and show them first: svc, or 'group == \"svc\"'; "
                             "choose it before you look at the comparison")
    parser.add_argument("--alpha", type=float, default=0.05, help="how often a difference may be called proven where there is none; 0.05 by default")
    parser.add_argument("--min-shift", type=percent, default=0, metavar="PERCENT",
                        help="only a difference whose whole interval reaches PERCENT is proven; 0 by default")
    parser.add_argument("--fail-on-proven", action="store_true", help="exit with status 1 if a difference is proven")
    parser.add_argument("--limit", type=whole, default=20, metavar="N", help="rows for each side; 0: all")
    add_span(parser)
    add_common(parser)


def add_top(parser):
    parser.add_argument("metric", nargs="?", metavar="METRIC", help="a headline; the first by default")
    parser.add_argument("--by", metavar="FACT", help="for each value of a fact")
    parser.add_argument("--limit", type=whole, default=20, metavar="N", help="rows; 0: all")
    add_span(parser)
    add_common(parser)


def add_show(parser):
    parser.add_argument("host", metavar="HOST")
    parser.add_argument("--at", metavar="WHEN", help="the last capture that ended by then")
    parser.add_argument("--index", metavar="DIR", help="the index; otherwise that of this directory or of one above it")
    parser.add_argument("--path", action="store_true", help="only the name of the file")
    parser.add_argument("-v", "--verbose", action="store_true", help="of index: name every file that is left out")
    parser.add_argument("more", nargs="*", metavar="-- OPTION", help="for ctprof show")
    parser.set_defaults(format="text")


def add_sql(parser):
    parser.add_argument("query", nargs="?", metavar="QUERY", help="from standard input if it is left out")
    add_common(parser)


ADD = {"index": add_index, "rank": add_rank, "compare": add_compare, "top": add_top, "show": add_show, "sql": add_sql}


def whole(word):
    if not word.isdigit():
        raise argparse.ArgumentTypeError(f"'{word}' is no number of 0 or more")
    return int(word)


def percent(word):
    try:
        share = float(word.removesuffix("%")) / 100
    except ValueError:
        share = -1
    if not 0 <= share < 100:
        raise argparse.ArgumentTypeError(f"'{word}' is no percentage")
    return share


def usage():
    width = max(map(len, VERBS))
    lines = [f"  {verb:{width}}  {what}" for verb, what in VERBS.items()]
    return "Usage: ctprof fleet VERB [OPTION...]\n\n" + "\n".join(lines) + "\n\nctprof fleet VERB --help has the rest.\n"


def dispatch(arguments):
    verb = arguments[0] if arguments else ""
    if verb in ("", "-h", "--help", "help"):
        sys.stdout.write(usage())
        return 0 if verb else 2
    if verb not in VERBS:
        near = nearest(verb, VERBS)
        raise FleetError(f"fleet: no verb '{verb}'; " + (f"did you mean {near}?" if near else f"there are {', '.join(VERBS)}"))
    options = parser_of(verb).parse_args(arguments[1:])
    is_csv_safe = getattr(options, "csv_safe", False)
    if is_csv_safe and options.format != "csv":
        raise FleetError(f"fleet {verb}: --csv-safe requires --format csv")
    return importlib.import_module(f".{verb}", __package__).run(options, Output(options.format, is_csv_safe=is_csv_safe))


def main(arguments):
    """Returns the exit status: 0 fine, 1 findings that were asked for, 2 what could not be done; 130 after Ctrl-C."""
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    try:
        status = dispatch(arguments)
        sys.stdout.flush()
        return status
    except FleetError as error:
        return fail(error)
    except BrokenPipeError:
        # Whoever read us has enough.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + signal.SIGPIPE
    except Exception as error:
        if not type(error).__module__.startswith(("duckdb", "_duckdb")):
            raise
        return fail(str(error).strip().splitlines()[0])


def fail(sentence):
    print(f"ctprof: {clean(sentence)}", file=sys.stderr)
    return 2
