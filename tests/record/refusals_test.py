#!/usr/bin/python3
"""Messages where the kernel refuses the BPF programs of the recorders off-cpu and sleepers: one sentence with the cause, and nothing remains.

A seccomp filter makes commands of bpf(2) fail, like the profile of a container, a security module, or a kernel that rejects a program.
Environment: CTPROF."""

import ctypes
import errno
import os
import pathlib
import re
import struct
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import recording  # noqa: E402
from recording import list_bpf_objects, program_ids, wait_for  # noqa: E402

SYS_BPF = {"x86_64": 321, "aarch64": 280}[os.uname().machine]
# Of enum bpf_cmd: commands for loading, then commands for attaching.
MAP_CREATE, PROG_LOAD, RAW_TRACEPOINT_OPEN, BTF_LOAD, LINK_CREATE, ITER_CREATE = 0, 5, 17, 18, 28, 33
COMMANDS = {"programs": [PROG_LOAD], "maps": [MAP_CREATE], "types": [BTF_LOAD], "links": [LINK_CREATE, RAW_TRACEPOINT_OPEN], "passes": [ITER_CREATE]}
ANSWERS = errno.EPERM, errno.EACCES, errno.EINVAL
CLOSED = "bpf(2) is not permitted for this process, for example by a container's seccomp profile: start ctprof outside the container"
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2
SECCOMP_RET_ALLOW, SECCOMP_RET_ERRNO = 0x7FFF0000, 0x00050000
LOAD, JUMP_IF_EQUAL, RETURN = 0x20, 0x15, 0x06  # BPF_LD | BPF_W | BPF_ABS, BPF_JMP | BPF_JEQ | BPF_K, BPF_RET | BPF_K
NUMBER, FIRST_ARGUMENT = 0, 16  # in struct seccomp_data


class Filter(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("instructions", ctypes.c_void_p)]


def answer_bpf(commands, answer):
    """Returns a preexec_fn for subprocess that makes these commands of bpf(2) fail with the errno `answer`."""
    last = len(commands)
    lines = [(LOAD, 0, 0, NUMBER), (JUMP_IF_EQUAL, 0, last + 1, SYS_BPF), (LOAD, 0, 0, FIRST_ARGUMENT)]
    lines += [(JUMP_IF_EQUAL, last - at, 0, command) for at, command in enumerate(commands)]
    lines += [(RETURN, 0, 0, SECCOMP_RET_ALLOW), (RETURN, 0, 0, SECCOMP_RET_ERRNO | answer)]
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *line) for line in lines))
    program = Filter(len(lines), ctypes.addressof(code))
    libc = ctypes.CDLL(None, use_errno=True)

    def install():
        libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        if libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(program), code) != 0:
            raise OSError(ctypes.get_errno(), "no seccomp filter")
    return install


def left_behind(before):
    """Returns new BPF programs for tracing that no process has open: those that a recorder left behind."""
    following = {number for number, program in list_bpf_objects("prog").items() if program["type"] in ("tracing", "raw_tracepoint", "perf_event")}
    in_use = set().union(*(program_ids(pid) for pid in os.listdir("/proc") if pid.isdigit()))
    return following - before - in_use


class Case(recording.RecordingCase):
    def setUp(self):
        super().setUp()
        self.require_bpf_rights()
        before = set(list_bpf_objects("prog"))
        self.addCleanup(lambda: self.assertTrue(wait_for(lambda: not left_behind(before)), left_behind(before)))

    def run_recording(self, recorder, before=(), **more):
        words = recording.command("-d", "100ms", "-o", self.file, "--metrics", "run_time_ns", "--recorders", recorder)
        return subprocess.run([*before, *words], capture_output=True, text=True, timeout=recording.TIMEOUT, check=False, **more)

    def record_without_btf(self, recorder):
        """Records in a mount namespace without /sys/kernel/btf."""
        finished = self.run_recording(recorder, ["unshare", "-m", "sh", "-c", 'mount -t tmpfs none /sys/kernel/btf && exec "$@"', "sh"])
        if "mount" in finished.stderr or "unshare" in finished.stderr:
            self.skipTest(finished.stderr)
        return finished


class OffCpu(Case):
    def check_refusal(self, finished):
        """Checks that the recording was refused with one sentence, and returns its reason."""
        self.assertEqual(finished.returncode, 2, finished.stderr)
        self.assertFalse(self.file.exists())
        self.assertEqual(finished.stderr.count("\n"), 1, finished.stderr)
        found = re.fullmatch(r"ctprof: (starting the recorder 'off-cpu'|cannot start the recorder 'off-cpu'): (.*)\n", finished.stderr)
        self.assertTrue(found, finished.stderr)
        return found[2]

    def test_each_refused_command(self):
        for name, commands in COMMANDS.items():
            for answer in ANSWERS:
                with self.subTest(refused=name, answer=errno.errorcode[answer]):
                    messages = self.check_refusal(self.run_recording("off-cpu", preexec_fn=answer_bpf(commands, answer)))
                    # Failures to load BTF have a message of libbpf.
                    if answer == errno.EPERM and name != "types":
                        self.assertTrue(messages.endswith(CLOSED), messages)
                    else:
                        self.assertRegex(messages, r"the kernel refused the BPF programs that follow threads \([A-Z][a-z ]+\), although Linux 5\.10")
                        self.assertIn(os.uname().release, messages)
                    self.assertEqual("attaching to" in messages, name == "links", messages)
                    self.assertEqual("a pass over all threads" in messages, name == "passes", messages)

    def test_no_btf(self):
        self.assertRegex(self.check_refusal(self.record_without_btf("off-cpu")), r"^the kernel does not describe its structures .*CONFIG_DEBUG_INFO_BTF$")


class Sleepers(Case):
    """Without BPF the recorder reads /proc, and reports this."""

    def check_proc_is_used(self, finished):
        self.assertEqual(finished.returncode, 0, finished.stderr)
        self.assertTrue(self.file.exists())
        # Threads that are hidden from BPF may have stacks that root cannot read, and on a busy host passes may be late.
        found = re.findall(r"(?m)^ctprof: sleepers: stacks have only their kernel part, from /proc: (.*?)(?:; stacks of \d+ sleeping threads are hidden "
                           r"from ctprof despite CAP_SYS_PTRACE \(.*\))?(?:; \d+ of \d+ passes .* not made in time)?$", finished.stderr)
        self.assertEqual(len(found), 1, finished.stderr)
        self.assertRegex(finished.stderr, r"(?m)^ctprof: sleepers: [1-9]\d* stacks?")
        return found[0]

    def test_each_refused_command(self):
        for name in "programs", "maps", "links":
            for answer in ANSWERS:
                with self.subTest(refused=name, answer=errno.errorcode[answer]):
                    messages = self.check_proc_is_used(self.run_recording("sleepers", preexec_fn=answer_bpf(COMMANDS[name], answer)))
                    if answer == errno.EPERM:
                        self.assertEqual(messages, CLOSED)
                    else:
                        self.assertRegex(messages, r"^the kernel refused the BPF program that samples sleeping threads \(.*\), although Linux 5\.17")

    def test_no_btf(self):
        self.assertRegex(self.check_proc_is_used(self.record_without_btf("sleepers")), r"^the kernel does not describe its structures .*CONFIG_DEBUG_INFO_BTF$")


if __name__ == "__main__":
    unittest.main()
