#!/bin/busybox sh
# shellcheck shell=dash disable=SC2034  # the sourced files use the variables
# The steps in a guest during one boot. The host has put the programs into /suite, and checks the files in /out.
set -u
cd /suite || exit 1
for part in lib workload switches scx heaps windows hunts stacks units; do
  # shellcheck source=/dev/null
  . "./$part.sh"
done
processes='' options=''
jemalloc=$(cat /suite/jemalloc)
make_output_directories
run_workload || { note "failed workload"; exit 1; }
run_switches
run_removal
run_scx
end_heap
run_heaps
run_windows
run_hunts
run_stacks
run_units
