"""The command line `ctprof fleet SUBCOMMAND ARGS...`, and options that all subcommands share."""

import argparse
import importlib
import os
import signal
import sys

from .errors import FleetError, find_nearest
from .output import Output
from .printable import escape_hidden

SUBCOMMANDS = {
    "index": "read new files into an index beside them",
    "rank": "rank hosts by a metric, the most unusual first",
    "compare": "compare hosts by a fact such as the kernel, with p values",
    "top": "rank groups over all hosts",
    "show": "open the newest capture of a host",
    "sql": "run an SQL query on the index",
}


class Parser(argparse.ArgumentParser):
    """Reports errors as a FleetError."""

    def error(self, message):
        raise FleetError(f"{self.prog}: {message}")


def add_common(parser, formats=("text", "json", "csv")):
    parser.add_argument("--format", choices=formats, default="text", help="the output for people (text) or for programs")
    if "csv" in formats:
        parser.add_argument("--csv-safe", action="store_true",
                            help="in CSV for spreadsheets, prefix texts that look like formulas, such as =1+1, with '")
    parser.add_argument("--index", metavar="DIR", help="the index; by default that of this directory or the nearest one above")
    parser.add_argument("-v", "--verbose", action="store_true", help="with index, list every excluded file")


def add_span(parser):
    parser.add_argument("--since", metavar="WHEN", help="select captures that end at WHEN or later: 10 min ago, yesterday 15:00, 2026-11-23 15:00")
    parser.add_argument("--until", metavar="WHEN", help="select captures that end at WHEN or earlier")


def make_parser(subcommand):
    parser = Parser(prog=f"ctprof fleet {subcommand}", description=SUBCOMMANDS[subcommand], allow_abbrev=False)
    ADD_OPTIONS[subcommand](parser)
    return parser


def add_index(parser):
    parser.add_argument("files", nargs="+", metavar="DIR|GLOB|FILE")
    parser.add_argument("--group-by", metavar="KEY", help="group threads by pcomm (default), cgroup or comm")
    parser.add_argument("--jobs", type=parse_whole_number, metavar="N", help="read N files concurrently; by default one per CPU")
    add_common(parser, ("text", "json"))


def add_rank(parser):
    parser.add_argument("figure", nargs="?", metavar="METRIC|EXPR", help="by default the most unusual headline of each host")
    parser.add_argument("--group", metavar="GROUP", help="rank by the figure of this group")
    parser.add_argument("--cohort", metavar="FACT", default="none",
                        help="compare each host with those that share this fact, such as kernel; by default with all")
    parser.add_argument("--limit", type=parse_whole_number, default=20, metavar="N", help="rows; 0: all")
    add_span(parser)
    add_common(parser)


def add_compare(parser):
    parser.add_argument("--by", metavar="FACT", required=True, help="divide hosts into sides by this fact, such as kernel")
    parser.add_argument("--baseline", metavar="VALUE", help="compare the other sides with this one; by default the largest")
    parser.add_argument("--about", metavar="GROUP|EXPR",
                        help="test the figures of one group by themselves, and show them first: svc, or 'group == \"svc\"'; "
                             "choose it before you look at the comparison")
    parser.add_argument("--alpha", metavar="P", help="the significance level, such as 0.01; by default that of `ctprof compare`")
    parser.add_argument("--min-shift", metavar="PERCENT",
                        help="report a difference as significant only if its whole confidence interval is beyond PERCENT, such as 5%%")
    parser.add_argument("--fail-on-proven", action="store_true", help="exit with status 1 if a difference is significant")
    parser.add_argument("--limit", type=parse_whole_number, default=20, metavar="N", help="rows for each side; 0: all")
    add_span(parser)
    add_common(parser)


def add_top(parser):
    parser.add_argument("metric", nargs="?", metavar="METRIC", help="a headline; the first by default")
    parser.add_argument("--by", metavar="FACT", help="rank groups separately for each value of a fact")
    parser.add_argument("--limit", type=parse_whole_number, default=20, metavar="N", help="rows; 0: all")
    add_span(parser)
    add_common(parser)


def add_show(parser):
    parser.add_argument("host", metavar="HOST")
    parser.add_argument("--at", metavar="WHEN", help="open the last capture that ended at WHEN or earlier")
    parser.add_argument("--index", metavar="DIR", help="the index; by default that of this directory or the nearest one above")
    parser.add_argument("--path", action="store_true", help="print only the name of the file")
    parser.add_argument("-v", "--verbose", action="store_true", help="with index, list every excluded file")
    parser.add_argument("more", nargs="*", metavar="-- OPTION", help="options for ctprof show")
    parser.set_defaults(format="text")


def add_sql(parser):
    parser.add_argument("query", nargs="?", metavar="QUERY", help="by default from standard input")
    add_common(parser)


ADD_OPTIONS = {"index": add_index, "rank": add_rank, "compare": add_compare, "top": add_top, "show": add_show, "sql": add_sql}


def parse_whole_number(word):
    if not word.isdigit():
        raise argparse.ArgumentTypeError(f"'{word}' is not a whole number")
    return int(word)


def usage():
    width = max(map(len, SUBCOMMANDS))
    lines = [f"  {subcommand:{width}}  {what}" for subcommand, what in SUBCOMMANDS.items()]
    return "Usage: ctprof fleet SUBCOMMAND [OPTION...]\n\n" + "\n".join(lines) + "\n\nctprof fleet SUBCOMMAND --help describes its options.\n"


def dispatch(arguments):
    subcommand = arguments[0] if arguments else ""
    if subcommand in ("", "-h", "--help", "help"):
        sys.stdout.write(usage())
        return 0 if subcommand else 2
    if subcommand not in SUBCOMMANDS:
        nearest = find_nearest(subcommand, SUBCOMMANDS)
        advice = f"did you mean {nearest}?" if nearest else f"choose {', '.join(SUBCOMMANDS)}"
        raise FleetError(f"fleet: unknown subcommand '{subcommand}'; {advice}")
    options = make_parser(subcommand).parse_args(arguments[1:])
    is_csv_safe = getattr(options, "csv_safe", False)
    if is_csv_safe and options.format != "csv":
        raise FleetError(f"fleet {subcommand}: --csv-safe requires --format csv")
    return importlib.import_module(f".{subcommand}", __package__).run(options, Output(options.format, is_csv_safe=is_csv_safe))


def main(arguments):
    """Returns the exit status: 0 success, 1 --fail-on-proven matched, 2 error; 130 after Ctrl-C."""
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    try:
        status = dispatch(arguments)
        sys.stdout.flush()
        return status
    except FleetError as error:
        return fail(error)
    except BrokenPipeError:
        # The reader closed the pipe.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + signal.SIGPIPE
    except Exception as error:
        if not type(error).__module__.startswith(("duckdb", "_duckdb")):
            raise
        return fail(str(error).strip().splitlines()[0])


def fail(sentence):
    print(f"ctprof: {escape_hidden(sentence)}", file=sys.stderr)
    return 2
