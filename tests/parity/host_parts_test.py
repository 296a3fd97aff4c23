#!/usr/bin/python3
"""Checks the rows of the entities `net`, `cpu` and `numa` on recorded trees, in a snapshot and in a window, against the written numbers."""

import json
import os
import unittest

import harness
from entity_case import EntityCase, copy_tree

NET = {"lo": list(range(1, 17)), "eth0": list(range(101, 117))}
NET_AFTER = {"eth0": [number * 2 for number in NET["eth0"]], "veth1": list(range(31, 47))}
NET_POSITION = {"net_received_bytes": 0, "net_received_packets": 1, "net_receive_errors": 2, "net_receive_drops": 3, "net_sent_bytes": 8,
                "net_sent_packets": 9, "net_send_errors": 10, "net_send_drops": 11}
STATES = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")
CPUS = {0: [100, 1, 50, 1000, 7, 2, 3, 4], 2: [200, 2, 60, 900, 8, 5, 6, 9]}
CPUS_AFTER = {0: [130, 1, 60, 1050, 9, 2, 8, 4], 2: [200, 2, 60, 1000, 8, 5, 6, 9]}
KHZ = {0: 1_800_000}
NODES = {0: [10, 20, 30, 40, 50, 60], 1: [1, 2, 3, 4, 5, 6]}
NODES_AFTER = {0: [15, 20, 31, 40, 57, 61], 1: [1, 2, 3, 4, 5, 6]}
KEYS = ("numa_hit", "numa_miss", "numa_foreign", "interleave_hit", "local_node", "other_node")
TCP, TCP_AFTER = (1000, 2000, 30, 50, 20), (1500, 12000, 730, 90, 40)
TCP_REFUSED = (1500, 12000, 730, 9_000_050, 9_000_020)
TCP_METRICS = ("host.tcp.received_segments", "host.tcp.sent_segments", "host.tcp.retransmitted_segments", "host.tcp.active_opens", "host.tcp.failed_opens")
TCP_DERIVED = ("host.tcp.excess_retransmits", "host.tcp.excess_failed_opens")
NUMA = ("numa_hit", "numa_miss", "numa_foreign", "numa_interleave_hit", "numa_local", "numa_other")


def subtract(after, before):
    return [a - b for a, b in zip(after, before)]


def net_values(numbers):
    return {metric: numbers[at] for metric, at in NET_POSITION.items()}


def cpu_values(ticks):
    values = {f"cpu_{state}_ticks": number for state, number in zip(STATES, ticks)}
    if sum(ticks):
        values["cpu_busy_ratio"] = (sum(ticks) - ticks[3] - ticks[4]) / sum(ticks)
    return values


def numa_values(pages):
    values = dict(zip(NUMA, pages))
    if pages[4] + pages[5]:
        values["numa_local_ratio"] = pages[4] / (pages[4] + pages[5])
    return values


class HostParts(EntityCase):
    longMessage = False

    @classmethod
    def setUpClass(cls):
        scratch = harness.scratch()
        cls.addClassCleanup(scratch.cleanup)
        cls.directory = scratch.name
        cls.before = cls.capture("before", NET, CPUS, NODES, TCP)
        cls.after = cls.capture("after", NET_AFTER, CPUS_AFTER, NODES_AFTER, TCP_AFTER)

    @classmethod
    def capture(cls, name, interfaces, cpus, nodes, tcp):
        root, file = os.path.join(cls.directory, name), os.path.join(cls.directory, f"{name}.ctprof.zst")
        write = copy_tree(root)
        heading = "Inter-|   Receive                |  Transmit\n face |bytes    packets errs drop|bytes    packets\n"
        write("proc/net/dev", heading + "".join(f"{name:>6}: {' '.join(map(str, numbers))}\n" for name, numbers in interfaces.items()))
        received, sent, again, opens, failures = tcp
        write("proc/net/snmp", f"Ip: Forwarding\nIp: 1\nTcp: RtoMin ActiveOpens AttemptFails InSegs OutSegs RetransSegs InErrs\nTcp: 200 {opens} {failures} {received} {sent} {again} 7\nUdp: InDatagrams\nUdp: 5\n")
        lines = "".join(f"cpu{cpu} {' '.join(map(str, ticks))} 0 0\n" for cpu, ticks in cpus.items())
        write("proc/stat", "cpu  " + "1 " * 10 + "\n" + lines + "intr 5 0\nctxt 5\nbtime 5\n")
        for cpu, khz in KHZ.items():
            write(f"sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_cur_freq", f"{khz}\n")
        for node, pages in nodes.items():
            write(f"sys/devices/system/node/node{node}/numastat", "".join(f"{key} {number}\n" for key, number in zip(KEYS, pages)))
        harness.capture(file, before=("--rootfs", root))
        return file

    def test_interfaces(self):
        self.assert_same(self.values("net", self.before), {name: net_values(numbers) for name, numbers in NET.items()})
        expected = {"eth0": net_values(subtract(NET_AFTER["eth0"], NET["eth0"])), "veth1": net_values(NET_AFTER["veth1"])}
        self.assert_same(self.values("net", f"{self.before}..{self.after}"), expected)

    def test_tcp(self):
        def values(*words):
            shown = harness.run("show", *words, "--format", "json", "--metrics", ",".join((*TCP_METRICS, *TCP_DERIVED)))
            return {row["metric"]: row["value"] for row in json.loads(shown.stdout)["rows"] if row["metric"].startswith("host.tcp.")}

        def expected(numbers):
            return dict(zip(TCP_METRICS, numbers)) | dict(zip(TCP_DERIVED, (numbers[2] - numbers[1] / 100, numbers[4] - numbers[3] / 10)))

        self.assertEqual(values(self.before), expected(TCP))
        self.assertEqual(values(f"{self.before}..{self.after}"), expected(subtract(TCP_AFTER, TCP)))

    def test_connections_that_fail_to_open_are_a_finding(self):
        def findings(file):
            shown = harness.run("show", f"{self.before}..{file}", "--format", "json")
            return {finding["rule"]: finding["what"] for finding in json.loads(shown.stdout)["screen"]["findings"]}

        refused = self.capture("refused", NET_AFTER, CPUS_AFTER, NODES_AFTER, TCP_REFUSED)
        expected = "failed to open 9.00M TCP connections, of 9.00M attempts, as when programs retry on a closed port"
        self.assertEqual(findings(refused).get("host.tcp.excess_failed_opens"), expected)
        self.assertNotIn("host.tcp.excess_failed_opens", findings(self.after))

    def test_cpus(self):
        frequency = {"cpu_frequency_khz": KHZ[0]}
        self.assert_same(self.values("cpu", self.before), {"0": cpu_values(CPUS[0]) | frequency, "2": cpu_values(CPUS[2])})
        expected = {str(cpu): cpu_values(subtract(CPUS_AFTER[cpu], CPUS[cpu])) for cpu in CPUS}
        expected["0"] |= frequency
        self.assert_same(self.values("cpu", f"{self.before}..{self.after}"), expected)
        self.assertEqual(list(self.values("cpu", self.before, "--where", "number == 2")), ["2"])

    def test_nodes(self):
        self.assert_same(self.values("numa", self.before), {str(node): numa_values(pages) for node, pages in NODES.items()})
        expected = {str(node): numa_values(subtract(NODES_AFTER[node], NODES[node])) for node in NODES}
        self.assert_same(self.values("numa", f"{self.before}..{self.after}"), expected)


if __name__ == "__main__":
    unittest.main(verbosity=2)
