"""A crowd of idle threads, and the room for it."""

import contextlib
import pathlib
import resource
import subprocess

KERNEL = pathlib.Path("/proc/sys/kernel")
SPARE = 4096  # tasks that the host has or starts besides the crowd


def set_sysctl(name, value):
    """As root; a plain user may have sudo."""
    try:
        (KERNEL / name).write_text(str(value))
    except PermissionError:
        subprocess.run(["sudo", "sysctl", "-q", "-w", f"kernel.{name}={value}"], check=True)


@contextlib.contextmanager
def room_for(count):
    """Raises what would stand in the way of `count` more tasks, and puts it back afterwards."""
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
    """`count` idle threads while it lasts: "processes" of one thread each, "threads" of one process, or "twenty" processes of many. Yields the
    process that started them, which is one of them where they are of one."""
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
