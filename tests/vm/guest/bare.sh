#!/bin/busybox sh
# shellcheck shell=dash disable=SC2034  # what is set here serves the file that is read
# A kernel that was started with nothing switched on; then delay accounting comes while threads run already.
set -u
cd /suite || exit 1
# shellcheck source=/dev/null
. ./lib.sh
processes=1 options=''
mkdir -p /out/captures /out/plain
capture bare
record all bare
set_switch /proc/sys/kernel/task_delayacct 1
capture later
by_files later-files
