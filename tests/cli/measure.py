#!/usr/bin/python3
"""Runs a command; then says its exit status, and whether its memory stayed below what hostile input may cost."""

import resource
import subprocess
import sys

LIMIT_MB = 700

status = subprocess.run(sys.argv[1:], check=False).returncode
peak_mb = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
print(f"status {status},", f"below {LIMIT_MB} MB" if peak_mb < LIMIT_MB else f"{peak_mb:.0f} MB")
