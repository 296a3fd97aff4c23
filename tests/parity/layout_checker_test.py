#!/usr/bin/python3
"""Damages a valid document in every known way and checks that the layout checker refuses it. Undamaged documents must pass.

The test repeats by hand which values are allowed, so that it does not depend on the checker's own rules.
"""

import copy
import json
import unittest

import layout_checker

NULLABLE = {"host", "probe_summary", "parse_summary", "taskstats_summary", "sched_ext", "dominant_failure",
            "dominant_read_failure", "max_quota_us", "weight", "weight_nice", "current of pids", "max", "high", "low", "min"}
SIGNED = {"nice", "processor", "priority", "weight_nice"}
LIMITS = {"tid": 2**32, "tgid": 2**32, "rt_priority": 2**32, "nice": 2**31, "processor": 2**31, "priority": 2**31,
          "weight_nice": 2**31, "avg10": 2**16, "avg60": 2**16, "avg300": 2**16}


def valid_psi():
    share = {"avg10": 0, "avg60": 1, "avg300": 65535, "total_usec": 2**64 - 1}
    return {name: {"some": dict(share), "full": dict(share)} for name in ("cpu", "memory", "io", "irq")}


def valid_thread(tgid, tid):
    row = {"tid": tid, "tgid": tgid, "pcomm": "p", "comm": "c", "cgroup": "/a", "policy": "SCHED_OTHER", "state": "S",
           "nice": -20, "processor": 0, "priority": -101, "rt_priority": 0, "cpu_affinity": [0, 3], "ext_enabled": False,
           "smaps_rollup_kib": {"Rss": 4}, "smaps_rollup_kb": {"Rss": 4}}
    for mark in ("taskstats_measured", "cpu_delay_active", "delay_block_active", "xacct_active", "jemalloc_measured"):
        row[mark] = True
    plain = """start_time_clock_ticks run_time_ns wait_time_ns timeslices voluntary_csw nonvoluntary_csw nr_wakeups
        nr_wakeups_local nr_wakeups_remote nr_wakeups_sync nr_wakeups_migrate nr_wakeups_affine nr_wakeups_affine_attempts
        nr_migrations nr_forced_migrations nr_failed_migrations_affine nr_failed_migrations_running nr_failed_migrations_hot
        wait_sum wait_count wait_max voluntary_sleep_ns sleep_max block_sum block_max iowait_sum iowait_count exec_max slice_max
        allocated_bytes deallocated_bytes minflt majflt utime_clock_ticks stime_clock_ticks core_forceidle_sum fair_slice_ns
        nr_threads rchar wchar syscr syscw read_bytes write_bytes cancelled_write_bytes hiwater_rss_bytes hiwater_vm_bytes"""
    for delay in ("cpu", "blkio", "swapin", "freepages", "thrashing", "compact", "wpcopy", "irq"):
        plain += f" {delay}_delay_count {delay}_delay_total_ns {delay}_delay_max_ns {delay}_delay_min_ns"
    return row | {key: 7 for key in plain.split()}


def valid_document():
    return {
        "captured_at_unix_ns": 1_800_000_000_000_000_000,
        "host": {"cpu_model": "x", "total_memory_kib": 1, "total_memory_kb": 1, "hugepages_size_kib": 2048,
                 "hugepages_size_kb": 2048, "numa_nodes": 1, "sched_tunables": {"sched_rr_timeslice_ms": "100"},
                 "cpufreq_governor": {"0": "performance"}, "task_delayacct": "on", "config_task_xacct": "unknown",
                 "heap_state": {"narenas": 1}},
        "threads": [valid_thread(1, 1), valid_thread(1, 2), valid_thread(2, 2)],
        "cgroup_stats": {"/a": {
            "cpu": {"usage_usec": 1, "nr_throttled": 0, "throttled_usec": 0, "max_quota_us": None, "max_period_us": 100000,
                    "weight": 100, "weight_nice": -1},
            "memory": {"current": 1, "max": None, "high": None, "low": 0, "min": 2**64 - 1, "stat": {"anon": 1}, "events": {}},
            "pids": {"current": 1, "max": None},
            "psi": valid_psi()}},
        "probe_summary": {"tgids_walked": 1, "jemalloc_detected": 0, "probed_ok": 0, "failed": 1,
                          "dominant_failure": "ptrace-seize", "privilege_dominant": True},
        "parse_summary": {"tids_walked": 3, "read_failures": 3, "read_failures_by_file": {"io": 2, "stat": 1},
                          "dominant_read_failure": "io", "kernel_config_dominant": False, "negative_dotted_values": 0},
        "taskstats_summary": {"ok_count": 3, "eperm_count": 0, "esrch_count": 0, "other_err_count": 0},
        "psi": valid_psi(),
        "sched_ext": {"state": "disabled", "switch_all": 0, "nr_rejected": 0, "hotplug_seq": 1, "enable_seq": 0},
    }


def places(value, at=()):
    """Returns every place below `value`, as a tuple of keys and positions."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield (*at, key)
        yield from places(item, (*at, key))


def get(document, place):
    for step in place:
        document = document[step]
    return document


def replace_value(place, value):
    document = valid_document()
    get(document, place[:-1])[place[-1]] = value
    return document


def remove_value(place):
    document = valid_document()
    del get(document, place[:-1])[place[-1]]
    return document


def is_fixed(place):
    """Returns whether the layout requires this key. Members of maps, of the host's context and of arrays are not required."""
    free = {"host", "cgroup_stats", "smaps_rollup_kib", "smaps_rollup_kb", "stat", "events", "read_failures_by_file"}
    return isinstance(place[-1], str) and not (len(place) > 1 and (place[0] == "host" or place[-2] in free))


def may_be_null(place):
    key = place[-1]
    if key == "current":
        return place[-2] == "pids"
    if place[0] == "cgroup_stats" or len(place) == 1 or key.startswith("dominant"):
        return key in NULLABLE
    return False


class LayoutChecker(unittest.TestCase):
    def refuses(self, document, why):
        self.assertNotEqual(layout_checker.check(document), [], why)

    def accepts(self, document):
        self.assertEqual(layout_checker.check(document), [])

    def test_accepts_a_valid_file(self):
        self.accepts(valid_document())
        self.accepts(valid_document() | {"something_new": {"a": 1.5}})
        self.accepts(valid_document() | {key: None for key in ("host", "probe_summary", "taskstats_summary", "sched_ext")})

    def test_refuses_a_missing_key(self):
        for place in places(valid_document()):
            if is_fixed(place):
                self.refuses(remove_value(place), f"without {place}")

    def test_refuses_another_type(self):
        strangers = ["x", 1.5, True, [], {}, 7]
        for place in places(valid_document()):
            value = get(valid_document(), place)
            expected = int if value is None else type(value)
            for stranger in strangers:
                if type(stranger) is not expected:
                    self.refuses(replace_value(place, stranger), f"{place} = {stranger!r}")

    def test_accepts_null_only_where_allowed(self):
        for place in places(valid_document()):
            if is_fixed(place):
                wrong = layout_checker.check(replace_value(place, None))
                self.assertEqual(wrong == [], may_be_null(place) and place != ("parse_summary", "dominant_read_failure"), place)

    def test_refuses_numbers_out_of_range(self):
        for place in places(valid_document()):
            if type(get(valid_document(), place)) is int:
                self.refuses(replace_value(place, LIMITS.get(place[-1], 2**64)), f"{place} too large")
                self.refuses(replace_value(place, -(2**31) - 1 if place[-1] in SIGNED else -1), f"{place} too small")

    def test_refuses_bad_rows(self):
        for field, value in (("state", ""), ("state", "SS"), ("cpu_affinity", [1, 0]), ("cpu_affinity", [1, 1]),
                             ("cpu_affinity", [-1]), ("smaps_rollup_kb", {})):
            self.refuses(replace_value(("threads", 1, field), value), f"{field} = {value!r}")

    def test_refuses_rows_out_of_order(self):
        document = valid_document()
        document["threads"].reverse()
        self.refuses(document, "threads backwards")
        self.refuses(replace_value(("threads", 1), valid_thread(1, 1)), "a thread twice")

    def test_refuses_threads_without_their_cgroup(self):
        self.refuses(replace_value(("threads", 0, "cgroup"), "/elsewhere"), "cgroup without stats")
        self.accepts(replace_value(("threads", 0, "cgroup"), ""))

    def test_refuses_one_spelling_without_the_other(self):
        for key in ("total_memory_kib", "total_memory_kb", "hugepages_size_kib", "hugepages_size_kb"):
            self.refuses(remove_value(("host", key)), f"host without {key}")

    def test_refuses_empty_values_of_the_host(self):
        for key, value in (("cpu_model", ""), ("cpu_model", None), ("sched_tunables", {}), ("cpufreq_governor", {}),
                           ("heap_state", {}), ("numa_nodes", 0), ("task_delayacct", "off"), ("config_task_xacct", "yes"),
                           ("cpufreq_governor", {"cpu0": "x"}), ("sched_tunables", {"other": "1"})):
            self.refuses(replace_value(("host", key), value), f"host.{key} = {value!r}")
        for key in ("cpu_model", "numa_nodes", "sched_tunables", "heap_state"):
            self.accepts(remove_value(("host", key)))

    def test_refuses_a_summary_that_does_not_add_up(self):
        for key, value in (("read_failures", 4), ("dominant_read_failure", "stat"), ("dominant_read_failure", None),
                           ("read_failures_by_file", {"io": 3, "stat": 0}), ("read_failures_by_file", {"maps": 3})):
            self.refuses(replace_value(("parse_summary", key), value), f"{key} = {value!r}")

    def test_refuses_invalid_json(self):
        text = json.dumps(valid_document())
        self.assertEqual(layout_checker.check_bytes(text.encode()), [])
        for bad in (text[:-1], text + "x", text.replace('"psi"', '"threads"', 1), text.replace('"c"', '"\\ud800"'),
                    text.replace('"weight": 100', '"weight": NaN'), text.replace('"c"', '"a\nb"'), "[" * 100000):
            self.assertNotEqual(layout_checker.check_bytes(bad.encode()), [], bad[:50])
        self.assertNotEqual(layout_checker.check_bytes(text.encode().replace(b'"c"', b'"\xff"')), [])


if __name__ == "__main__":
    unittest.main()
