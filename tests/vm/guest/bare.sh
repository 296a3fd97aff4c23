#!/bin/busybox sh
# shellcheck shell=dash disable=SC2034  # lib.sh uses the variables
# A kernel with all switches off. Delay accounting is then enabled while threads already run.
set -u
cd /suite || exit 1
# shellcheck source=/dev/null
. ./lib.sh
processes=1 options=''
make_output_directories
capture bare
record all bare
set_switch /proc/sys/kernel/task_delayacct 1
capture later
by_files later-files
# Runs the commands that doctor suggests for root: they follow that heading, and all other lines there are comments.
set_switch /proc/sys/kernel/task_delayacct 0
mkdir /sys/fs/cgroup/below
sleep 600 &
echo $! >/sys/fs/cgroup/below/cgroup.procs
capture untreated
/suite/tools/ctprof/ctprof doctor >/out/doctor.before
sed '1,/^Commands for root/d' /out/doctor.before | sh -e || note "failed doctor"
/suite/tools/ctprof/ctprof doctor >/out/doctor.after
sleep 600 &
capture treated
