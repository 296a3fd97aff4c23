"""Starts a crowd of idle threads, and raises the limits that it needs."""

import contextlib
import pathlib
import resource
import subprocess

KERNEL = pathlib.Path("/proc/sys/kernel")
OTHER_TASKS = 4096  # tasks that the host has or starts besides the crowd


def set_sysctl(name, value):
    """Sets a kernel parameter. Falls back to sudo without root."""
    try:
        (KERNEL / name).write_text(str(value))
    except PermissionError:
        subprocess.run(["sudo", "sysctl", "-q", "-w", f"kernel.{name}={value}"], check=True)


@contextlib.contextmanager
def raised_limits(count):
    """Raises the limits that would prevent `count` more tasks, and restores them afterwards."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NPROC)
    resource.setrlimit(resource.RLIMIT_NPROC, (hard, hard))
    old_values = {name: int((KERNEL / name).read_text()) for name in ("pid_max", "threads-max")}
    too_low = {name: value for name, value in old_values.items() if value < count + OTHER_TASKS}
    try:
        for name in too_low:
            set_sysctl(name, 2 * (count + OTHER_TASKS))
        yield
    finally:
        for name, value in too_low.items():
            set_sysctl(name, value)
        resource.setrlimit(resource.RLIMIT_NPROC, (soft, hard))


@contextlib.contextmanager
def crowd(idle, kind, count):
    """Runs `count` idle threads inside the context: "processes" of one thread each, "threads" of one process, or "twenty" processes. Yields the
    pid of the process that started them; with "threads", that process contains them."""
    with raised_limits(count):
        child = subprocess.Popen([idle, kind, str(count)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        try:
            if child.stdout.readline() != b"ready\n":
                raise SystemExit(f"bench: could not start {count} idle {kind}")
            yield child.pid
        finally:
            child.stdin.close()
            child.wait()
            child.stdout.close()
