"""`python3 DIRECTORY ARGS...`: what `ctprof fleet` starts, and whatever else of ctprof is written in Python."""

import sys

# Where this is installed, a package manager counts the files.
sys.dont_write_bytecode = True

from ctprof_fleet.command import main  # noqa: E402

sys.exit(main(sys.argv[1:]))
