"""Starts a crowd of idle threads, and raises the limits that it needs."""

import contextlib
import pathlib
import resource
import subprocess

KERNEL = pathlib.Path("/proc/sys/kernel")
SPARE = 4096  # tasks that the host has or starts besides the crowd


def set_sysctl(name, value):
    """Sets a kernel parameter. Falls back to sudo without root."""
    try:
        (KERNEL / name).write_text(str(value))
    except PermissionError:
        subprocess.run(["sudo", "sysctl", "-q", "-w", f"kernel.{name}={value}"], check=True)


@contextlib.contextmanager
def room_for(count):
    """Raises the limits that would prevent `count` more tasks, and restores them afterwards."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NPROC)
    resource.setrlimit(resource.RLIMIT_NPROC, (hard, hard))
    before = {name: int((KERNEL / name).read_text()) for name in ("pid_max", "threads-max")}
    low = {name: value for name, value in before.items() if value < count + SPARE}
    try:
        for name in low:
            set_sysctl(name, 2 * (count + SPARE))
        yield
    finally:
        for name, value in low.items():
            set_sysctl(name, value)
        resource.setrlimit(resource.RLIMIT_NPROC, (soft, hard))


@contextlib.contextmanager
def crowd(idle, kind, count):
    """Runs `count` idle threads inside the context: "processes" of one thread each, "threads" of one process, or "twenty" processes. Yields the
    pid of the process that started them; with "threads", that process contains them."""
    with room_for(count):
        child = subprocess.Popen([idle, kind, str(count)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        try:
            if child.stdout.readline() != b"ready\n":
                raise SystemExit(f"bench: could not start {count} idle {kind}")
            yield child.pid
        finally:
            child.stdin.close()
            child.wait()
            child.stdout.close()
