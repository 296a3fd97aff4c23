"""`ctprof fleet index`: creates or updates an index, and reports the result."""

import os

from . import index_directory, views, walk
from .indexer import Indexer
from .index_directory import IndexDirectory
from .printable import escape_hidden, format_count
from .progress import Progress

# Number of files per list without -v.
MAX_NAMED = 3


def choose_directory(arguments, option):
    """Returns the index for these files: the specified one, or that in their common directory."""
    if option:
        is_other = (os.path.isdir(option) and not IndexDirectory(option).is_index() and os.listdir(option)
                    and os.path.basename(os.path.abspath(option)) != index_directory.NAME)
        return IndexDirectory(os.path.join(option, index_directory.NAME) if is_other else option)
    tops = [os.path.abspath(argument if os.path.isdir(argument) else os.path.dirname(argument) or ".")
            for named in arguments for argument in walk.expand_pattern(named)]
    return IndexDirectory(os.path.join(os.path.commonpath(tops), index_directory.NAME))


def lock_index(index_dir, group_by):
    """Locks the index for adding files, and clears it if its version or grouping differs. Returns the lock, the description of the index, and
    why it was cleared, or None."""
    rebuild_note = None
    while True:
        lock = index_dir.locked(exclusive=False)
        lock.__enter__()
        about = index_dir.read_about()
        wanted = {"schema": index_directory.SCHEMA, "group_by": group_by or about.get("group_by") or "pcomm"}
        if about == wanted:
            return lock, about, rebuild_note
        lock.__exit__(None, None, None)
        with index_dir.locked(exclusive=True):
            if index_dir.read_about() == about:
                rebuild_note = rebuild_reason(about, wanted)
                index_dir.remove_contents()
                index_dir.write_about(wanted)


def rebuild_reason(about, wanted):
    if not about:
        return None
    if about.get("schema") != wanted["schema"]:
        return f"the index was of another version ({about.get('schema')}, this is {wanted['schema']}) and is rebuilt"
    return f"the index had groups by {escape_hidden(about.get('group_by'))} and is rebuilt with groups by {wanted['group_by']}"


def run(options, output):
    index_dir = choose_directory(options.files, options.index)
    found = walk.find_files(options.files, index_dir.base, index_dir.path)
    index_dir.create()
    index_dir.remove_leftovers()
    lock, about, rebuild_note = lock_index(index_dir, options.group_by)
    progress = Progress("files")
    indexer = Indexer(index_dir, found, reader_options(about, options), progress)
    try:
        indexer.run()
    finally:
        progress.end()
        lock.__exit__(None, None, None)
    write_answer(output, index_dir, found, indexer, rebuild_note, options)
    return 0


def reader_options(about, options):
    jobs = ["--jobs", str(options.jobs)] if options.jobs else []
    return ["--group-by", about["group_by"], *jobs]


def write_answer(output, index_dir, found, indexer, rebuild_note, options):
    table = views.IndexTable(index_dir, (*views.NEEDED, "files"))
    hosts, captures, files = table.fetch_one("SELECT count(DISTINCT host), count(*), (SELECT count(*) FROM files) FROM counted")
    left_out = [("not ctprof files", found.excluded)] + table.excluded_by_reason()
    result = {"index": index_dir.path, "files": files, "captures": captures, "hosts": hosts, "read": indexer.read_files,
              "gone": len(indexer.missing), "left_out": [{"file": file, "why": why} for _, pairs in left_out for file, why in pairs],
              "told": [{"file": file, "told": note} for file, note in indexer.notes]}
    if output.format == "json":
        return output.write_json(result)
    if rebuild_note:
        output.print_note(rebuild_note)
    output.write_line(f"{escape_hidden(index_dir.path)}: {format_count(files, 'file')}, {format_count(captures, 'capture')} "
                      f"of {format_count(hosts, 'host')}; {indexer.read_files} read now, {len(indexer.missing)} missing")
    for kind, pairs in left_out:
        list_files(output, f"left out, {kind}", pairs, options.verbose)
    list_files(output, "notes about files", indexer.notes, options.verbose)
    return None


def list_files(output, heading, pairs, everything):
    if not pairs:
        return
    output.write_line(f"{heading}: {len(pairs)}")
    shown = pairs if everything else pairs[:MAX_NAMED]
    for file, why in shown:
        output.write_line(f"  {escape_hidden(file)}: {escape_hidden(why)}")
    if len(shown) < len(pairs):
        output.write_line(f"  and {len(pairs) - len(shown)} more (-v)")
