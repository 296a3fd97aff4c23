"""A process that runs, reads, writes and faults until the end of its input. Prints "ready" once it has started."""

import mmap
import select
import sys

PAGES = 16

print("ready", flush=True)
while not select.select([sys.stdin], [], [], 0)[0]:
    with open("/proc/self/stat", "rb") as file:
        file.read()
    with open("/dev/null", "wb", buffering=0) as file:
        file.write(b"x" * 1000)
    with mmap.mmap(-1, PAGES * mmap.PAGESIZE) as fresh:
        for page in range(PAGES):
            fresh[page * mmap.PAGESIZE] = 1
