"""`ctprof fleet index`: what is asked, and what is told of it."""

import os

from . import place as places, views, walk
from .indexer import Indexer
from .output import Output
from .place import Place
from .printable import clean, count
from .progress import Progress

# How many of a kind are named without -v.
NAMED = 3


def where(arguments, given):
    """The index for these files: as told, or in the directory that all of them are in."""
    if given:
        is_other = os.path.isdir(given) and not Place(given).is_index() and os.listdir(given) and os.path.basename(os.path.abspath(given)) != places.NAME
        return Place(os.path.join(given, places.NAME) if is_other else given)
    tops = [os.path.abspath(argument if os.path.isdir(argument) else os.path.dirname(argument) or ".")
            for named in arguments for argument in walk.expanded(named)]
    return Place(os.path.join(os.path.commonpath(tops), places.NAME))


def prepare(place, group_by):
    """Locked for adding, and of this version, with these groups. Returns the lock and what had to be made anew, if anything."""
    anew = None
    while True:
        lock = place.locked(alone=False)
        lock.__enter__()
        about = place.about()
        wanted = {"schema": places.SCHEMA, "group_by": group_by or about.get("group_by") or "pcomm"}
        if about == wanted:
            return lock, about, anew
        lock.__exit__(None, None, None)
        with place.locked(alone=True):
            if place.about() == about:
                anew = why_anew(about, wanted)
                place.clear()
                place.write_about(wanted)


def why_anew(about, wanted):
    if not about:
        return None
    if about.get("schema") != wanted["schema"]:
        return f"the index was of another version ({about.get('schema')}, this is {wanted['schema']}) and is made anew"
    return f"the index had groups by {clean(about.get('group_by'))} and is made anew, by {wanted['group_by']}"


def run(options, output):
    place = where(options.files, options.index)
    found = walk.walk(options.files, place.base, place.path)
    place.make()
    place.tidy()
    lock, about, anew = prepare(place, options.group_by)
    progress = Progress("files")
    indexer = Indexer(place, found, reader_options(about, options), progress)
    try:
        indexer.run()
    finally:
        progress.end()
        lock.__exit__(None, None, None)
    tell(output, place, found, indexer, anew, options)
    return 0


def reader_options(about, options):
    jobs = ["--jobs", str(options.jobs)] if options.jobs else []
    return ["--group-by", about["group_by"], *jobs]


def tell(output, place, found, indexer, anew, options):
    table = views.Table(place, (*views.NEEDED, "files"))
    hosts, captures, files = table.one("SELECT count(DISTINCT host), count(*), (SELECT count(*) FROM files) FROM counted")
    left_out = [("not files of ours", found.left_out)] + table.left_out_by_reason()
    result = {"index": place.path, "files": files, "captures": captures, "hosts": hosts, "read": indexer.read_files,
              "gone": len(indexer.gone), "left_out": [{"file": file, "why": why} for _, pairs in left_out for file, why in pairs],
              "told": [{"file": file, "told": told} for file, told in indexer.told]}
    if output.format == "json":
        return output.json(result)
    if anew:
        output.note(anew)
    output.line(f"{clean(place.path)}: {count(files, 'file')}, {count(captures, 'capture')} of {count(hosts, 'host')}; "
                f"{indexer.read_files} read now, {len(indexer.gone)} gone")
    for kind, pairs in left_out:
        name_some(output, f"left out, {kind}", pairs, options.verbose)
    name_some(output, "told of", indexer.told, options.verbose)
    return None


def name_some(output, heading, pairs, everything):
    if not pairs:
        return
    output.line(f"{heading}: {len(pairs)}")
    shown = pairs if everything else pairs[:NAMED]
    for file, why in shown:
        output.line(f"  {clean(file)}: {clean(why)}")
    if len(shown) < len(pairs):
        output.line(f"  and {len(pairs) - len(shown)} more (-v)")
