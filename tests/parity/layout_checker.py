#!/usr/bin/python3
"""A strict checker of the reference's file layout: checks that the newest and the oldest reader of the reference accept a file.

It is written from the description of the layout, independently of ctprof's writer. It checks every required key, type and range, and both
spellings of renamed keys. Additional keys are allowed, because the reference ignores them.

    layout_checker.py FILE...    prints what is wrong with each .ctprof.zst; the exit status is 1 if anything is wrong
"""

import json
import subprocess
import sys

U64 = range(0, 2**64)
U32 = range(0, 2**32)
U16 = range(0, 2**16)
I32 = range(-(2**31), 2**31)

# ---- kinds: a kind is a function (value, place) -> list of complaints ---------------------------------------------------


def number(legal):
    def check(value, place):
        if type(value) is not int:
            return [f"{place}: {kind_name(value)} where an integer must be"]
        return [] if value in legal else [f"{place}: {value} is out of range"]
    return check


def exactly(kind, word):
    def check(value, place):
        return [] if type(value) is kind else [f"{place}: {kind_name(value)} where {word} must be"]
    return check


TEXT = exactly(str, "a string")
BOOL = exactly(bool, "true or false")


def text_that(holds, word):
    def check(value, place):
        return TEXT(value, place) or ([] if holds(value) else [f"{place}: {value!r} is not {word}"])
    return check


def nullable(kind):
    return lambda value, place: [] if value is None else kind(value, place)


def map_of(kind, key_holds=lambda key: True):
    def check(value, place):
        if type(value) is not dict:
            return [f"{place}: {kind_name(value)} where an object must be"]
        wrong = [f"{place}: no key of it can be {key!r}" for key in value if not key_holds(key)]
        return wrong + [text for key, item in value.items() for text in kind(item, f"{place}[{key!r}]")]
    return check


def record(required, optional=None):
    """Returns the kind of an object that has all keys of `required` and any of `optional`."""
    known = {**required, **(optional or {})}

    def check(value, place):
        if type(value) is not dict:
            return [f"{place}: {kind_name(value)} where an object must be"]
        wrong = [f"{place}.{key} is missing" for key in required if key not in value]
        return wrong + [text for key in known if key in value for text in known[key](value[key], f"{place}.{key}")]
    return check


def ascending(kind):
    def check(value, place):
        if type(value) is not list:
            return [f"{place}: {kind_name(value)} where an array must be"]
        wrong = [text for i, item in enumerate(value) for text in kind(item, f"{place}[{i}]")]
        if not wrong and any(a >= b for a, b in zip(value, value[1:])):
            wrong = [f"{place}: not ascending"]
        return wrong
    return check


def kind_name(value):
    return {int: "an integer", float: "a fraction", str: "a string", bool: "a bool", list: "an array", dict: "an object",
            type(None): "null"}[type(value)]


# ---- the layout -----------------------------------------------------------------------------------------------------


def keys(kind, words):
    return {word: kind for word in words.split()}


DELAYS = "cpu blkio swapin freepages thrashing compact wpcopy irq".split()
DELAY_KEYS = [f"{delay}_delay_{what}" for delay in DELAYS for what in ("count", "total_ns", "max_ns", "min_ns")]

THREAD = {
    **keys(number(U32), "tid tgid rt_priority"),
    **keys(TEXT, "pcomm comm cgroup policy"),
    **keys(number(I32), "nice processor priority"),
    "cpu_affinity": ascending(number(U32)),
    "state": text_that(lambda text: len(text) == 1, "one character"),
    **keys(BOOL, "ext_enabled taskstats_measured cpu_delay_active delay_block_active xacct_active jemalloc_measured"),
    **keys(map_of(number(U64)), "smaps_rollup_kib smaps_rollup_kb"),
    **keys(number(U64), """start_time_clock_ticks run_time_ns wait_time_ns timeslices voluntary_csw nonvoluntary_csw nr_wakeups
        nr_wakeups_local nr_wakeups_remote nr_wakeups_sync nr_wakeups_migrate nr_wakeups_affine nr_wakeups_affine_attempts
        nr_migrations nr_forced_migrations nr_failed_migrations_affine nr_failed_migrations_running nr_failed_migrations_hot
        wait_sum wait_count wait_max voluntary_sleep_ns sleep_max block_sum block_max iowait_sum iowait_count exec_max slice_max
        allocated_bytes deallocated_bytes minflt majflt utime_clock_ticks stime_clock_ticks core_forceidle_sum fair_slice_ns
        nr_threads rchar wchar syscr syscw read_bytes write_bytes cancelled_write_bytes hiwater_rss_bytes hiwater_vm_bytes"""),
    **{key: number(U64) for key in DELAY_KEYS},
}
assert len(THREAD) == 98 + 1  # 98 in the newest layout, plus the older spelling of one of them

PSI_SHARE = record({**keys(number(U16), "avg10 avg60 avg300"), "total_usec": number(U64)})
PSI = record({resource: record({"some": PSI_SHARE, "full": PSI_SHARE}) for resource in ("cpu", "memory", "io", "irq")})

CGROUP = record({
    "cpu": record({
        **keys(number(U64), "usage_usec nr_throttled throttled_usec max_period_us"),
        **keys(nullable(number(U64)), "max_quota_us weight"),
        "weight_nice": nullable(number(I32)),
    }),
    "memory": record({
        "current": number(U64),
        **keys(nullable(number(U64)), "max high low min"),
        **keys(map_of(number(U64)), "stat events"),
    }),
    "pids": record(keys(nullable(number(U64)), "current max")),
    "psi": PSI,
})

SCHED_EXT = record({"state": TEXT, **keys(number(U64), "switch_all nr_rejected hotplug_seq enable_seq")})

PROBE_SUMMARY = record({
    **keys(number(U64), "tgids_walked jemalloc_detected probed_ok failed"),
    "dominant_failure": nullable(TEXT),
    "privilege_dominant": BOOL,
})

READ_FILES = {"stat", "schedstat", "io", "status", "sched", "cgroup", "smaps_rollup"}
PARSE_SUMMARY = record({
    **keys(number(U64), "tids_walked read_failures negative_dotted_values"),
    "read_failures_by_file": map_of(number(range(1, 2**64)), READ_FILES.__contains__),
    "dominant_read_failure": nullable(text_that(READ_FILES.__contains__, "a file that is read")),
    "kernel_config_dominant": BOOL,
})

TASKSTATS_SUMMARY = record(keys(number(U64), "ok_count eperm_count esrch_count other_err_count"))


def one_of(*words):
    return text_that(words.__contains__, "one of " + ", ".join(words))


NONEMPTY_TEXT = text_that(bool, "to be left out when empty")
# The host's context omits unknown values: it has no null, no empty text and no empty object.
HOST = record({}, {
    **keys(NONEMPTY_TEXT, "cpu_model cpu_vendor thp_enabled thp_defrag kernel_name kernel_release arch kernel_cmdline"),
    **keys(number(U64), """total_memory_kib total_memory_kb hugepages_total hugepages_free hugepages_size_kib
        hugepages_size_kb online_cpus"""),
    "numa_nodes": number(range(1, 2**64)),
    "sched_tunables": map_of(TEXT, lambda key: key.startswith("sched_")),
    "cpufreq_governor": map_of(TEXT, lambda key: key.isascii() and key.isdigit()),
    "task_delayacct": one_of("config_off", "runtime_off", "on"),
    "config_task_xacct": one_of("on", "off", "unknown"),
    "heap_state": record({}, keys(number(U64), "active_bytes allocated_bytes resident_bytes mapped_bytes narenas")),
})

TOP = record({
    "captured_at_unix_ns": number(U64),
    "host": nullable(HOST),
    "threads": lambda value, place: threads(value, place),
    "cgroup_stats": map_of(CGROUP, bool),
    "probe_summary": nullable(PROBE_SUMMARY),
    "parse_summary": nullable(PARSE_SUMMARY),
    "taskstats_summary": nullable(TASKSTATS_SUMMARY),
    "psi": PSI,
    "sched_ext": nullable(SCHED_EXT),
})

# New name of each renamed key -> old name
RENAMED_IN_HOST = {"total_memory_kib": "total_memory_kb", "hugepages_size_kib": "hugepages_size_kb"}

# ---- rules about several keys ---------------------------------------------------------------------------------------

THREAD_RECORD = record(THREAD)


def threads(value, place):
    if type(value) is not list:
        return [f"{place}: {kind_name(value)} where an array must be"]
    wrong = [text for i, row in enumerate(value) for text in THREAD_RECORD(row, f"{place}[{i}]")]
    return wrong or check_order(value, place) + check_spellings(value, place)


def check_order(rows, place):
    ids = [(row["tgid"], row["tid"]) for row in rows]
    return [f"{place}[{i + 1}]: not in order of tgid and tid, or twice" for i in range(len(ids) - 1) if ids[i] >= ids[i + 1]]


def check_spellings(rows, place):
    return [f"{place}[{i}]: the two spellings of smaps_rollup differ"
            for i, row in enumerate(rows) if row["smaps_rollup_kib"] != row["smaps_rollup_kb"]]


def host_rules(host):
    wrong = [f"host.{key} and host.{old} must go together"
             for key, old in RENAMED_IN_HOST.items() if host.get(key) != host.get(old)]
    return wrong + [f"host.{key}: empty, so it must be left out"
                    for key in ("sched_tunables", "cpufreq_governor", "heap_state") if host.get(key) == {}]


def parse_summary_rules(summary):
    by_file = summary["read_failures_by_file"]
    wrong = []
    if sum(by_file.values()) != summary["read_failures"]:
        wrong.append("parse_summary.read_failures: not the sum of those by file")
    most = min(by_file, key=lambda name: (-by_file[name], name), default=None)
    if summary["dominant_read_failure"] != most:
        wrong.append(f"parse_summary.dominant_read_failure: should be {most!r}")
    return wrong


def cgroup_rules(document):
    lacking = {row["cgroup"] for row in document["threads"]} - set(document["cgroup_stats"]) - {""}
    return [f"cgroup_stats: no entry for {path!r}, where threads are" for path in sorted(lacking)]


def check(document):
    """Returns the complaints about a parsed file, none if it is valid."""
    wrong = TOP(document, "file")
    if wrong:
        return wrong
    wrong = cgroup_rules(document)
    if document["host"] is not None:
        wrong += host_rules(document["host"])
    if document["parse_summary"] is not None:
        wrong += parse_summary_rules(document["parse_summary"])
    return wrong


# ---- bytes ----------------------------------------------------------------------------------------------------------


class InvalidJson(Exception):
    pass


def reject_duplicate_keys(pairs):
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [key for key, _ in pairs]
        raise InvalidJson(f"key {next(key for key in names if names.count(key) > 1)!r} twice in one object")
    return found


def reject_constant(word):
    raise InvalidJson(f"{word} is not JSON")


def reject_lone_surrogate(text):
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InvalidJson("a string holds half of a surrogate pair") from None


def parse(data):
    """Parses a document from its bytes. Raises InvalidJson where a strict JSON reader would stop."""
    try:
        text = data.decode("utf-8")
        document = json.loads(text, object_pairs_hook=reject_duplicate_keys, parse_constant=reject_constant)
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        raise InvalidJson(str(error)) from None
    if "\\ud" in text.lower():
        for string in strings(document):
            reject_lone_surrogate(string)
    return document


def strings(value):
    if type(value) is str:
        yield value
    elif type(value) is list:
        for item in value:
            yield from strings(item)
    elif type(value) is dict:
        for key, item in value.items():
            yield key
            yield from strings(item)


def check_bytes(data):
    try:
        return check(parse(data))
    except InvalidJson as refused:
        return [str(refused)]


def check_file(path):
    unpacked = subprocess.run(["zstd", "-dcq", "--", path], capture_output=True, check=False)
    if unpacked.returncode != 0:
        return [f"zstd: {unpacked.stderr.decode(errors='replace').strip()}"]
    return check_bytes(unpacked.stdout)


def main():
    failed = False
    for path in sys.argv[1:]:
        wrong = check_file(path)
        failed = failed or bool(wrong)
        for sentence in wrong[:50]:
            print(f"{path}: {sentence}")
        if len(wrong) > 50:
            print(f"{path}: and {len(wrong) - 50} more")
    return 1 if failed or len(sys.argv) < 2 else 0


if __name__ == "__main__":
    sys.exit(main())
