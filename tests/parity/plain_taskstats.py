#!/usr/bin/python3
"""An independent plain reader of taskstats: one request and one answer over a Python socket.

It computes the layout of the kernel's struct from the order of its members in <linux/taskstats.h>, and shares no code with the plugin
that it checks.

In scope:       the struct by version, requesting a thread, the values that a capture should contain for it.
Out of scope:   reading captures (file_json.py), comparing (compare_rows.py).

    plain_taskstats.py TID ...    prints what it finds
"""

import os
import socket
import struct
import sys

from plain_reader import missing

KINDS = ["cpu", "blkio", "swapin", "freepages", "thrashing", "compact", "wpcopy", "irq"]

NETLINK_GENERIC = 16
GENL_ID_CTRL = 16
NLMSG_ERROR = 2
NLM_F_REQUEST = 1
CTRL_CMD_GETFAMILY, CTRL_ATTR_FAMILY_ID, CTRL_ATTR_FAMILY_NAME = 3, 1, 2
TASKSTATS_CMD_GET, CMD_ATTR_PID = 1, 1
TYPE_STATS, TYPE_AGGR_PID = 3, 4

# metric: field, for fields that are not named after a kind of delay
OTHER_FIELDS = {
    "run_time_ns": "cpu_run_virtual_total", "wait_time_ns": "cpu_delay_total", "timeslices": "cpu_count",
    "voluntary_csw": "nvcsw", "nonvoluntary_csw": "nivcsw", "minflt": "ac_minflt", "majflt": "ac_majflt",
}


def delay(kind, extremes):
    return [f"{kind}_count", f"{kind}_delay_total"] + ([f"{kind}_delay_max", f"{kind}_delay_min"] if extremes else [])


def members(version):
    """Returns (name, bytes) of the struct's members in order. Each member is aligned to its size; the name `-` marks skipped bytes."""
    inner = version == 15
    longs = [*delay("cpu", inner), *delay("blkio", inner), *delay("swapin", inner), "cpu_run_real_total", "cpu_run_virtual_total"]
    names = [("version", 2), ("ac_exitcode", 4), ("ac_flag", 1), ("ac_nice", 1), *((name, 8) for name in longs)]
    names += [("-", 8)] * 5  # ac_comm and ac_sched
    names += [(name, 4) for name in ("ac_uid", "ac_gid", "ac_pid", "ac_ppid", "ac_btime")]
    longs = ["ac_etime", "ac_utime", "ac_stime", "ac_minflt", "ac_majflt", "coremem", "virtmem", "hiwater_rss", "hiwater_vm",
             "read_char", "write_char", "read_syscalls", "write_syscalls", "read_bytes", "write_bytes", "cancelled_write_bytes",
             "nvcsw", "nivcsw", "ac_utimescaled", "ac_stimescaled", "cpu_scaled_run_real_total", *delay("freepages", inner),
             *delay("thrashing", inner), "ac_btime64"]
    longs += delay("compact", inner) if version >= 11 else []
    names += [(name, 8) for name in longs]
    names += [("ac_tgid", 4), ("ac_tgetime", 8), ("ac_exe_dev", 8), ("ac_exe_inode", 8)] if version >= 12 else []
    longs = delay("wpcopy", inner) if version >= 13 else []
    longs += delay("irq", inner) if version >= 14 else []
    longs += [f"{kind}_delay_{end}" for kind in KINDS for end in ("max", "min")] if version >= 16 else []
    return names + [(name, 8) for name in longs]


def fields_of(stats):
    """Returns the struct's fields by name, as far as the data reaches."""
    found, offset = {}, 0
    for name, size in members(int.from_bytes(stats[:2], sys.byteorder)):
        offset += -offset % size
        if name != "-" and offset + size <= len(stats):
            found[name] = int.from_bytes(stats[offset:offset + size], sys.byteorder)
        offset += size
    return found


def attribute(kind, body):
    return struct.pack("=HH", 4 + len(body), kind) + body + bytes(-len(body) % 4)


def attributes(body):
    found = {}
    while len(body) >= 4:
        length, kind = struct.unpack_from("=HH", body)
        found[kind] = body[4:length]
        body = body[length + -length % 4:]
    return found


class Taskstats:
    """A netlink socket. query(tid) returns the struct's fields, or raises PermissionError or ProcessLookupError according to the kernel's error."""

    def __init__(self):
        self.socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_GENERIC)
        self.socket.bind((0, 0))
        named = self._ask(GENL_ID_CTRL, CTRL_CMD_GETFAMILY, attribute(CTRL_ATTR_FAMILY_NAME, b"TASKSTATS\0"))
        self.family, = struct.unpack_from("=H", named[CTRL_ATTR_FAMILY_ID])

    def _ask(self, family, command, body):
        self.socket.send(struct.pack("=IHHIIBBH", 20 + len(body), family, NLM_F_REQUEST, 1, 0, command, 1, 0) + body)
        answer = self.socket.recv(65536)
        if struct.unpack_from("=H", answer, 4)[0] == NLMSG_ERROR:
            error = -struct.unpack_from("=i", answer, 16)[0]
            raise OSError(error, os.strerror(error))
        return attributes(answer[20:])

    def query(self, tid):
        answer = self._ask(self.family, TASKSTATS_CMD_GET, attribute(CMD_ATTR_PID, struct.pack("=I", tid)))
        return fields_of(attributes(answer[TYPE_AGGR_PID])[TYPE_STATS])

    def close(self):
        self.socket.close()


def value_of(fields, name):
    """Returns the value of a field, which the struct of this version may lack."""
    return fields.get(name, missing("Unsupported"))


def metrics_of(fields, switched_on=True, counts_interrupts=None):
    """Returns what a capture should contain for a thread: metric -> value or Missing."""
    if counts_interrupts is None:
        counts_interrupts = os.path.exists("/proc/pressure/irq") or not os.path.exists("/proc/pressure")
    found = {metric: value_of(fields, name) for metric, name in OTHER_FIELDS.items()}
    for kind in KINDS:
        kept = {f"{kind}_delay_count": value_of(fields, f"{kind}_count")}
        kept |= {f"{kind}_delay_{end}_ns": value_of(fields, f"{kind}_delay_{end}") for end in ("total", "max", "min")}
        if kind == "irq" and not counts_interrupts:
            kept = dict.fromkeys(kept, missing("Unsupported"))
        elif kind != "cpu" and not switched_on:
            kept = {metric: missing("SwitchedOff") if isinstance(value, int) else value for metric, value in kept.items()}
        found |= kept
    for mark in ("rss", "vm"):
        found[f"hiwater_{mark}_bytes"] = fields[f"hiwater_{mark}"] * 1024 if fields["hiwater_vm"] else missing("NotApplicable")
    return found


def main():
    reader = Taskstats()
    for tid in sys.argv[1:]:
        print(tid)
        for name, value in reader.query(int(tid)).items():
            print(f"  {name} = {value}")


if __name__ == "__main__":
    main()
