#!/usr/bin/python3
"""Runs a command with a FUSE file system that stops answering on request.

    stuck_mount DIRECTORY FILE COMMAND...

Mounts the file system over DIRECTORY in a new mount namespace, so that no other process sees it. It contains `file` with the bytes of FILE, and
copies named `file1`, `file2` and so on. COMMAND runs in that namespace with the standard input and output of this program. The file system
answers until a file named FILE.stuck exists. From then on it accepts requests without answering, like a hanging server. If FILE.stuck contains
"reads", only read requests stay unanswered; if it contains "slow", each answer takes half a second. When COMMAND exits, the mount and all
processes that wait for it disappear.

Implements the protocol of /dev/fuse (include/uapi/linux/fuse.h), so that the test needs no library."""

import ctypes
import errno
import os
import re
import signal
import stat
import struct
import sys
import time

CLONE_NEWNS, MS_REC, MS_PRIVATE = 0x20000, 0x4000, 0x40000
LOOKUP, FORGET, GETATTR, OPEN, READ, RELEASE, FLUSH, INIT, OPENDIR, READDIR, RELEASEDIR, INTERRUPT, BATCH_FORGET = (
    1, 2, 3, 14, 15, 18, 25, 26, 27, 28, 29, 36, 42)
ROOT, FILE = 1, 2
HEADER = struct.Struct("<IIQQIIII")
LIBC = ctypes.CDLL(None, use_errno=True)


def call(function, *arguments):
    if function(*arguments) != 0:
        raise OSError(ctypes.get_errno(), function.__name__)


def mount(directory, device):
    """Mounts the file system for all users. The kernel may cache attributes for one second."""
    call(LIBC.unshare, CLONE_NEWNS)
    call(LIBC.mount, b"none", b"/", None, ctypes.c_ulong(MS_REC | MS_PRIVATE), None)
    options = f"fd={device},rootmode=40000,user_id=0,group_id=0,allow_other".encode()
    call(LIBC.mount, b"stuck", os.fsencode(directory), b"fuse", ctypes.c_ulong(0), options)


class Server:
    def __init__(self, device, content, stuck):
        self.device, self.content, self.stuck = device, content, stuck

    def attributes(self, node):
        mode, size = (stat.S_IFDIR | 0o755, 4096) if node == ROOT else (stat.S_IFREG | 0o755, len(self.content))
        return struct.pack("<6Q10I", node, size, size // 512, 0, 0, 0, 0, 0, 0, mode, 1, 0, 0, 0, 4096, 0)

    def is_stuck(self, opcode):
        if not os.path.exists(self.stuck):
            return False
        with open(self.stuck, encoding="ascii") as file:
            return opcode == READ or file.read() != "reads"

    def is_slow(self):
        with open(self.stuck, encoding="ascii") as file:
            return file.read() == "slow"

    def answer(self, opcode, node, body):
        """Returns the bytes of the answer, or an error number."""
        if opcode == INIT:
            return struct.pack("<4I2H2I2H8I", 7, 31, 65536, 0, 16, 12, 65536, 1, 0, 0, *[0] * 8)
        if opcode == LOOKUP:
            found = re.fullmatch(rb"file(\d*)\0", body)
            node = FILE + int(found[1] or 0) if found else 0
            return struct.pack("<4Q2I", node, 0, 1, 1, 0, 0) + self.attributes(node) if found else errno.ENOENT
        if opcode == GETATTR:
            return struct.pack("<Q2I", 1, 0, 0) + self.attributes(node)
        if opcode in (OPEN, OPENDIR):
            return struct.pack("<Q2I", node, 0, 0)
        if opcode == READ:
            _, offset, size = struct.unpack_from("<QQI", body)
            return self.content[offset:offset + size]
        return b"" if opcode in (RELEASE, FLUSH, RELEASEDIR, READDIR) else errno.ENOSYS

    def serve(self):
        while True:
            try:
                request = os.read(self.device, 1 << 17)
            except OSError as error:
                if error.errno in (errno.EINTR, errno.ENOENT):
                    continue
                return  # unmounted
            _, opcode, unique, node, *_ = HEADER.unpack_from(request)
            if opcode in (FORGET, BATCH_FORGET, INTERRUPT):
                continue
            if self.is_stuck(opcode):
                if not self.is_slow():
                    continue
                time.sleep(0.5)
            answer = self.answer(opcode, node, request[HEADER.size:])
            error, body = (-answer, b"") if isinstance(answer, int) else (0, answer)
            os.write(self.device, struct.pack("<IiQ", 16 + len(body), error, unique) + body)


def main():
    directory, path, *command = sys.argv[1:]
    with open(path, "rb") as file:
        content = file.read()
    device = os.open("/dev/fuse", os.O_RDWR)
    mount(directory, device)
    parent = os.getpid()
    server = os.fork()
    if server == 0:
        for number in (0, 1):
            os.close(number)
        LIBC.prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
        if os.getppid() == parent:
            Server(device, content, path + ".stuck").serve()
        os._exit(0)
    os.close(device)
    target = os.fork()
    if target == 0:
        LIBC.prctl(1, signal.SIGKILL)
        try:
            os.execv(command[0], command)
        finally:
            os._exit(127)
    signal.signal(signal.SIGTERM, lambda *_: [os.kill(process, signal.SIGKILL) for process in (server, target)])
    while os.waitpid(target, os.WNOHANG) == (0, 0):
        time.sleep(0.01)
    os.kill(server, signal.SIGKILL)


if __name__ == "__main__":
    main()
