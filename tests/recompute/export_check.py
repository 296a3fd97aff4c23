"""Checks properties of exports that other tools rely on: unique ids, and times of call stacks.

    check_ids(tally, "run.ctprof.zst")
    check_pprof(tally, "run.ctprof.zst", span)
    check_perfetto(tally, "run.ctprof.zst", span)
"""

import collections
import gzip
import json
import os
import tempfile

import product

SECOND = 10**9
# Field numbers of Profile (pprof), and of Trace and TracePacket (Perfetto).
SAMPLE_TYPE, TIME_NANOS, DURATION_NANOS, PERIOD_TYPE, PERIOD = 1, 9, 10, 11, 12
PACKET, TIMESTAMP, SAMPLES = 1, 8, {66, 135}  # PerfSample, StackSample


def export(path, form, *words):
    with tempfile.TemporaryDirectory(prefix="export-") as place:
        into = os.path.join(place, "out")
        product.run("export", "-q", path, "--to", form, *words, "-o", into)
        with open(into, "rb") as file:
            return file.read()


def fields(data):
    """Yields (number, value) of a Protocol Buffers message: integers, and bytes for fields with a length."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value
    while at < len(data):
        key = varint()
        if key & 7 == 0:
            yield key >> 3, varint()
        else:
            size = {1: 8, 5: 4}.get(key & 7) or varint()
            yield key >> 3, data[at:at + size]
            at += size


def check_ids(tally, path):
    """Checks that each `id` occurs in only one row of its capture and entity."""
    lines = [json.loads(line) for line in export(path, "ndjson", "--rows", "threads,processes,cgroups").splitlines()]
    found = collections.Counter((line["capture"], line["entity"], line["id"]) for line in lines)
    for key, count in found.items():
        tally.judge("table id is unique", (os.path.basename(path), *key[1:]), count == 1, count, 1)


def check_pprof(tally, path, span):
    data = export(path, "pprof")
    found = collections.defaultdict(list)
    for number, value in fields(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data):
        found[number].append(value)
    where = (os.path.basename(path), "pprof")
    stacks = [name for name, metric in span.metrics.items() if metric["storage"] == "stacks" and name in span.tables["thread"].now]
    tally.judge("pprof sample types", where, len(found[SAMPLE_TYPE]) >= len(stacks), len(found[SAMPLE_TYPE]), len(stacks))
    opened = span.first.window["opened"]["wall_unix_ns"]
    closed = span.last.about["start"]["wall_unix_ns"]
    time = found[TIME_NANOS][0] if found[TIME_NANOS] else 0
    duration = found[DURATION_NANOS][0] if found[DURATION_NANOS] else 0
    tally.judge("pprof time", where, abs(time - opened) <= closed - opened, time, opened)
    tally.judge("pprof duration", where, abs(duration - (closed - opened)) <= (closed - opened) / 10, duration, closed - opened)
    tally.judge("pprof period", where, bool(found[PERIOD] and found[PERIOD][0]), found[PERIOD], "a period")


def check_perfetto(tally, path, span):
    """Checks that samples have times inside the window, in ns of the boot."""
    packets = [dict(fields(packet)) for number, packet in fields(export(path, "perfetto")) if number == PACKET]
    samples = [packet.get(TIMESTAMP, 0) for packet in packets if SAMPLES & packet.keys()]
    length = span.closed - span.opening_time
    tally.judge("perfetto has samples", (os.path.basename(path),), bool(samples), len(samples), "samples")
    for time in samples:
        right = span.opening_time - length <= time <= span.closed + length
        tally.judge("perfetto time of a sample", (os.path.basename(path),), right, time, f"{span.opening_time} to {span.closed}")
