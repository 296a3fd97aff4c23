#!/usr/bin/python3
"""Tests figures for Prometheus with promtool and the parsers of prometheus_client, from a file and from a socket, also with hostile clients."""

import contextlib
import json
import math
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import unittest

import constructed_files
from case import Case, harness
from product_copy import product_copy

try:
    from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse_openmetrics
    from prometheus_client.parser import text_string_to_metric_families as parse_text
except ImportError:
    parse_openmetrics = parse_text = None

PROMTOOL = os.path.join(os.environ.get("FETCHED", "build"), "promtool", "usr", "bin", "promtool")
OPENMETRICS = "application/openmetrics-text; version=1.0.0"
READING_INTERVAL = 1.0  # seconds between two readings of the host


def check(text):
    if os.access(PROMTOOL, os.X_OK):
        finished = subprocess.run([PROMTOOL, "check", "metrics"], input=text, capture_output=True, text=True, check=False)
        if finished.returncode != 0 or finished.stderr:
            raise AssertionError(finished.stdout + finished.stderr)


def series(text, parse=None):
    """Returns a map (name, labels) -> value."""
    found = {}
    for family in (parse or parse_text)(text):
        for sample in family.samples:
            key = sample.name, tuple(sorted(sample.labels.items()))
            if key in found or math.isnan(sample.value):
                raise AssertionError(key)
            found[key] = sample.value
    return found


class Figures(Case):
    def export(self, path, *words, status=0):
        finished = harness.run("export", path, "--to", "prometheus", "-o", "out.prom", *words)
        self.assertEqual(finished.returncode, status, finished.stderr)
        with open("out.prom", encoding="utf-8") as file:
            return file.read(), finished.stderr


class Files(Figures):
    def show_values(self, path, *words):
        report = json.loads(harness.run("show", path, "--details", "--limit", "0", "--format", "json", *words).stdout)
        return {(row["group"], row["metric"]): row["value"] for row in report["rows"] if isinstance(row.get("value"), (int, float)) and row["value"] is not None}

    def test_snapshot(self):
        constructed_files.capture("a.ctprof.zst")
        text, _ = self.export("a.ctprof.zst", "--metrics", "all", "--max-series", "0")
        check(text)
        found, expected = series(text), self.show_values("a.ctprof.zst")
        compared = 0
        for (group, metric), value in expected.items():
            key = {"run_time_ns": ("ctprof_lifetime_run_time_seconds", 1e-9), "read_bytes": ("ctprof_lifetime_read_bytes", 1), "wait_max": ("ctprof_wait_max_seconds", 1e-9),
                   "utime_clock_ticks": ("ctprof_lifetime_utime_seconds", 0.01), "minflt": ("ctprof_lifetime_minflt", 1)}.get(metric)
            if key:
                compared += 1
                self.assertAlmostEqual(found[key[0], (("pcomm", group),)], value * key[1], delta=abs(value * key[1]) * 1e-12, msg=metric)
        self.assertGreater(compared, 20)
        self.assertNotIn("tid=", text)
        self.assertNotRegex(text, r"(?i)\bnan\b")

    def test_window(self):
        harness.run("record", "-q", "-d", "500ms", "-o", "w.ctprof.zst")
        text, _ = self.export("w.ctprof.zst", "--no-thread-normalize")
        check(text)
        found, expected = series(text), self.show_values("w.ctprof.zst", "--no-thread-normalize")
        total = sum(value for (_, metric), value in expected.items() if metric == "run_time_ns") / 1e9
        rates = sum(value for (name, _), value in found.items() if name == "ctprof_run_time_seconds_per_second")
        self.assertGreater(rates, 0)
        self.assertAlmostEqual(rates * found["ctprof_window_seconds", ()], total, delta=total * 0.2)
        self.assertNotIn("_total", text)

    def test_cgroups_and_limits(self):
        lines = constructed_files.capture("a.ctprof.zst")
        cgroups = constructed_files.tables(lines, "cgroup")[0]["columns"]
        row = next(row for row, most in enumerate(cgroups["cgroup.memory.max"]) if most is not None)
        cgroups["cgroup.memory.max"][row] = (1 << 64) - 1
        constructed_files.write("b.ctprof.zst", lines)
        text, _ = self.export("b.ctprof.zst", "--group-by", "cgroup", "--metrics", "all", "--no-cg-normalize", "--max-series", "0")
        check(text)
        found = series(text)
        self.assertEqual(found["ctprof_cgroup_memory_max_bytes", (("cgroup", cgroups["cgroup.path"][row]),)], math.inf)
        self.assertTrue([key for key in found if key[0] == "ctprof_cgroup_memory_stat_bytes" and ("key", "anon") in key[1]])

    def test_limits_number_of_series(self):
        constructed_files.capture("a.ctprof.zst")
        whole, messages = self.export("a.ctprof.zst")
        self.assertNotIn("left out", messages)
        text, messages = self.export("a.ctprof.zst", "--max-series", "40")
        check(text)
        kept, found = series(text), series(whole)
        self.assertLessEqual(len(kept), 40)
        self.assertGreater(len(kept), 20)
        groups = {labels for _, labels in found if labels} - {labels for _, labels in kept if labels}
        self.assertEqual(kept.pop(("ctprof_groups_left_out", ())), len(groups))
        self.assertRegex(messages, rf"(?m)^ctprof: left out the {len(groups)} lightest groups with \d+ series, because all exceed 40 series")
        self.assertEqual({key: found[key] for key in kept}, kept)
        busiest = max((value, labels) for (name, labels), value in found.items() if name == "ctprof_lifetime_run_time_seconds")[1]
        self.assertIn(("ctprof_lifetime_run_time_seconds", busiest), kept)

    def test_hostile_names(self):
        names = ['a"b', "a\\b", "two\nlines", "{x}", "\x1b[31m", "\u202e", "é", "# HELP", "", "a\tb"]
        lines = constructed_files.capture("a.ctprof.zst")
        table = constructed_files.tables(lines, "thread")[0]["columns"]
        for row, tgid in enumerate(table["tgid"]):
            table["pcomm"][row] = names[tgid % len(names)]
        constructed_files.write("b.ctprof.zst", lines)
        text, _ = self.export("b.ctprof.zst", "--no-thread-normalize")
        check(text)
        groups = {dict(labels)["pcomm"] for _, labels in series(text) if labels}
        expected = {re.sub("[\n\t\x1b\u202e]", lambda c: f"\\u{{{ord(c[0]):x}}}", name) for name in set(table["pcomm"])}
        self.assertEqual(groups, expected)
        self.assertNotIn("\x1b", text)

    def test_file_keeps_permissions(self):
        constructed_files.capture("a.ctprof.zst")
        self.export("a.ctprof.zst")
        self.assertEqual(os.stat("out.prom").st_mode & 0o777, 0o600)
        os.chmod("out.prom", 0o644)
        before = os.stat("out.prom").st_ino
        self.export("a.ctprof.zst")
        self.assertEqual(os.stat("out.prom").st_mode & 0o777, 0o644)
        self.assertNotEqual(os.stat("out.prom").st_ino, before, "the file was replaced")


class Server:
    def __init__(self, *words):
        self.process = subprocess.Popen([harness.CTPROF, "export", "--to", "prometheus", "--listen", "0", "--public", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.messages = ""
        while "listening at" not in self.messages:
            line = self.process.stderr.readline()
            if not line:
                raise AssertionError(self.messages)
            self.messages += line
        self.port = int(re.search(r"listening at http://127\.0\.0\.1:(\d+)/metrics", self.messages)[1])

    def connect(self):
        return socket.create_connection(("127.0.0.1", self.port), timeout=20)

    def send(self, request):
        """Returns the complete response: head and body."""
        with self.connect() as client:
            client.sendall(request)
            pieces = []
            with contextlib.suppress(ConnectionResetError):
                while piece := client.recv(1 << 16):
                    pieces.append(piece)
        head, _, body = b"".join(pieces).partition(b"\r\n\r\n")
        return head.decode(), body.decode()

    def get(self, accept=None, path="/metrics", method="GET", version="1.1"):
        header = f"Accept: {accept}\r\n" if accept else ""
        return self.send(f"{method} {path} HTTP/{version}\r\nHost: localhost:{self.port}\r\n{header}\r\n".encode())

    def stop(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        out, error = self.process.communicate(timeout=20)
        return self.process.returncode, out, error


class ListeningServer(Figures):
    def server(self, *words):
        server = Server(*words)
        self.addCleanup(server.process.communicate)
        self.addCleanup(server.process.kill)
        return server

    def test_responds_and_stops_on_signal(self):
        server = self.server()
        (head, text), again, (openmetrics_head, openmetrics) = self.request_within_one_interval(server)
        self.assertRegex(head, r"^HTTP/1\.1 200 OK\r\n")
        self.assertIn("Content-Type: text/plain; version=0.0.4; charset=utf-8", head)
        check(text)
        first = series(text)
        self.assertEqual(again, text, "within a second the last response is repeated")
        self.assertIn(f"Content-Type: {OPENMETRICS}; charset=utf-8", openmetrics_head)
        self.assertTrue(openmetrics.endswith("\n# EOF\n"))
        self.assertIn("# UNIT ctprof_run_time_seconds seconds\n", openmetrics)
        self.assertEqual(series(openmetrics, parse_openmetrics), first)
        for accept in ("text/plain", f"{OPENMETRICS};q=0", "application/openmetrics-text; version=2.0.0", "*/*"):
            self.assertIn("text/plain; version=0.0.4", server.get(accept)[0], accept)
        time.sleep(READING_INTERVAL)
        second = series(server.get()[1])
        counters = {key for key in first if key[0].endswith("_total")}
        self.assertGreater(len(counters), 20)
        self.assertEqual([key for key in counters if second[key] < first[key]], [])
        self.assertGreater(second["ctprof_captured_timestamp_seconds", ()], first["ctprof_captured_timestamp_seconds", ()])
        self.assertEqual(server.stop(signal.SIGINT), (0, "", ""))

    def request_within_one_interval(self, server):
        """Returns three responses from one reading, also on a busy host."""
        for _ in range(20):
            time.sleep(READING_INTERVAL)
            start = time.monotonic()
            answers = server.get(), server.get()[1], server.get(f"{OPENMETRICS},text/plain;version=0.0.4;q=0.5")
            if time.monotonic() - start < READING_INTERVAL:
                return answers
        self.skipTest("needs a host that answers three times in a second")

    def test_counts_processes_between_scrapes(self):
        """Counts the time of a process that started and exited between two scrapes."""
        server = self.server("--no-thread-normalize")
        server.get()
        time.sleep(READING_INTERVAL)
        with open("burn.py", "w", encoding="utf-8") as file:
            file.write("import time\nopen('/proc/self/comm', 'w').write('burned-away')\nwhile time.process_time() < 0.3: pass\n")
        subprocess.run([sys.executable, "burn.py"], check=True)
        if os.geteuid() != 0:
            self.skipTest("needs root to observe exited threads")
        key = "ctprof_run_time_seconds_total", (("pcomm", "burned-away"),)
        first = series(server.get()[1])
        if key not in first:
            self.skipTest("needs a kernel that reports exited threads")
        self.assertGreater(first[key], 0.2)
        time.sleep(READING_INTERVAL)
        self.assertEqual(series(server.get()[1])[key], first[key], "the counter is kept")

    def test_other_requests(self):
        server = self.server()
        self.assertRegex(server.get(path="/")[0], r"^HTTP/1\.1 404 ")
        self.assertRegex(server.get(path="/metricsx")[0], r"^HTTP/1\.1 404 ")
        head, _ = server.get(method="POST")
        self.assertRegex(head, r"^HTTP/1\.1 405 ")
        self.assertIn("Allow: GET, HEAD", head)
        head, body = server.get(method="HEAD")
        self.assertRegex(head, r"^HTTP/1\.1 200 ")
        self.assertGreater(int(re.search(r"Content-Length: (\d+)", head)[1]), 100)
        self.assertEqual(body, "")
        self.assertRegex(server.send(b"GET /metrics HTTP/1.0\r\n\r\n")[0], r"^HTTP/1\.1 200 ")
        self.assertRegex(server.get(path="/metrics?a=b")[0], r"^HTTP/1\.1 200 ")
        self.assertRegex(server.get(version="9.9")[0], r"^HTTP/1\.1 505 ")
        for request in (b"\r\n\r\n", b"GET\r\n\r\n", b"GET metrics HTTP/1.1\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n", b"\x00" * 64 + b"\n\n"):
            self.assertRegex(server.send(request)[0], r"^HTTP/1\.1 400 ", request)
        self.assertRegex(server.send(b"GET /metrics HTTP/1.1\r\nHost: evil.example\r\n\r\n")[0], r"^HTTP/1\.1 403 ")
        self.assertRegex(server.send(b"GET /metrics HTTP/1.1\r\nHost: 127.0.0.1.evil.example\r\n\r\n")[0], r"^HTTP/1\.1 403 ")
        self.assertRegex(server.send(b"GET /metrics HTTP/1.1\r\nHost: [::1]:1\r\n\r\n")[0], r"^HTTP/1\.1 200 ")

    def test_hostile_clients_do_not_block_others(self):
        server = self.server()
        server.get()
        self.assertRegex(server.send(b"GET /metrics HTTP/1.1\r\nX: " + b"a" * 100_000 + b"\r\n\r\n")[0] or "HTTP/1.1 431 ", r"^HTTP/1\.1 431 ")
        idle = [server.connect() for _ in range(200)]
        self.addCleanup(lambda: [client.close() for client in idle])
        slow = server.connect()
        self.addCleanup(slow.close)
        slow.sendall(b"GET /met")
        not_reading = server.connect()
        not_reading.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
        self.addCleanup(not_reading.close)
        not_reading.sendall(b"GET /metrics HTTP/1.1\r\n\r\n")
        start = time.monotonic()
        for _ in range(5):
            self.assertRegex(server.get()[0], r"^HTTP/1\.1 200 ")
        self.assertLess(time.monotonic() - start, 10)
        with open(f"/proc/{server.process.pid}/status", encoding="utf-8") as file:
            self.assertLess(int(re.search(r"VmRSS:\s+(\d+)", file.read())[1]), 400_000 if harness.is_sanitized() else 150_000)
        time.sleep(6)
        slow.settimeout(5)
        self.assertEqual(slow.recv(10), b"", "slow clients are disconnected")
        self.assertLess(len(os.listdir(f"/proc/{server.process.pid}/fd")), 200)
        self.assertEqual(server.stop()[0], 0)

    def test_concurrent_requests_share_one_reading_per_second(self):
        server = self.server()
        answers = []

        def request_metrics():
            for _ in range(10):
                answers.append(series(server.get()[1])["ctprof_captured_timestamp_seconds", ()])

        start = time.monotonic()
        threads = [threading.Thread(target=request_metrics) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(answers), 80)
        self.assertLessEqual(len(set(answers)), 2 + (time.monotonic() - start) / READING_INTERVAL)

    def test_accepts_only_loopback_addresses(self):
        for address in ("0.0.0.0:9101", "[::]:9101", "192.0.2.1:9101", "example.com:9101", "9101x", "", "127.0.0.1:", "127.0.0.1:70000", "1:2:3"):
            finished = harness.run("export", "--to", "prometheus", "--listen", address)
            self.assertEqual(finished.returncode, 2, address)
            self.assertEqual(len(finished.stderr.splitlines()), 1, finished.stderr)
        self.assertIn("is not a loopback address", harness.run("export", "--to", "prometheus", "--listen", "0.0.0.0:9101").stderr)
        for words in (("a.ctprof.zst",), ("-o", "x"), ("--redact",)):
            finished = harness.run("export", "--to", "prometheus", "--listen", "0", *words)
            self.assertEqual((finished.returncode, len(finished.stderr.splitlines())), (2, 1), finished.stderr)
        server = self.server()
        finished = harness.run("export", "--to", "prometheus", "--public", "--listen", str(server.port))
        self.assertEqual(finished.returncode, 2)
        self.assertIn(f"listening at '127.0.0.1:{server.port}': Address already in use", finished.stderr)


@unittest.skipUnless(harness.can_become_user() and shutil.which("setcap"), "needs root, and setcap")
class FileCapabilities(Figures):
    """A ctprof whose file has capabilities, run by a user without rights."""

    def test_refuses_to_listen_and_to_start_programs(self):
        scratch = harness.root_only_scratch()
        self.addCleanup(scratch.cleanup)
        constructed_files.capture("a.ctprof.zst")
        os.chmod("a.ctprof.zst", 0o644)
        program = product_copy(harness.CTPROF, scratch.name)
        subprocess.run(["setcap", "cap_sys_ptrace,cap_dac_read_search+ep", program], check=True)
        for words, message in ((("--to", "prometheus", "--listen", "0"), "--listen is refused with file capabilities"),
                               (("a.ctprof.zst", "--to", "parquet", "-o", "a.parquet"), "which a ctprof with file capabilities does not start")):
            finished = subprocess.run([*harness.USER, program, "export", *words], capture_output=True, text=True, check=False, timeout=60)
            self.assertEqual(finished.returncode, 2, finished.stderr)
            self.assertIn(message, finished.stderr)
        finished = subprocess.run([*harness.USER, program, "export", "a.ctprof.zst", "--to", "ndjson", "-o", "a.ndjson"], capture_output=True, text=True, check=False, timeout=60)
        self.assertEqual(finished.returncode, 0, finished.stderr)


if __name__ == "__main__":
    if not parse_text:
        print("skipped: no prometheus_client (tools/dev fetches it)", file=sys.stderr)
        sys.exit(77)
    if not os.access(PROMTOOL, os.X_OK):
        print("without promtool: tools/dev fetches it", file=sys.stderr)
    unittest.main(argv=[sys.argv[0], "-v", *sys.argv[1:]])
