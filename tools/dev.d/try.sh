# `tools/dev try`: shows a newcomer this host while it is idle and while it works, the difference, and
# the stacks of its waits.

readonly try_seconds=4
# The programs work long enough for two recordings and the output in between.
readonly try_work_seconds=$((3 * try_seconds))

# show_command ARGUMENT...: prints a ctprof command, then its output.
show_command() {
  printf '\n$ ctprof %s\n' "$*"
  (cd "$out/try" && CTPROF_PAGER='' "$ctprof" "$@")
}

run_try() {
  build_product tests/bench/workload
  mkdir -p "$out/try"
  coproc "$out/release/tests/bench/workload" "$try_work_seconds"
  local from=${COPROC[0]} to=${COPROC[1]} word
  read -r word <&"$from"
  echo "ctprof records what every thread on this machine does between two moments."
  echo "First, $try_seconds seconds of this machine without additional work:"
  show_command record -d "${try_seconds}s" -o idle.ctprof.zst
  show_command show idle.ctprof.zst
  printf '\n%s\n' "Now $try_seconds seconds with work: try-cpu computes, try-disk writes and syncs, try-sleep sleeps briefly, try-lock waits for a lock."
  echo >&"$to"
  show_command record -d "${try_seconds}s" -o busy.ctprof.zst
  show_command show busy.ctprof.zst
  printf '\n%s\n' "Which of the blocked programs wait for a lock? The suggested command records the stacks of waits:"
  show_command record --recorders off-cpu -d "${try_seconds}s" -o waits.ctprof.zst
  read -r word <&"$from"
  show_command show waits.ctprof.zst
  printf '\n%s\n' "The difference between the two recordings:"
  show_command compare idle.ctprof.zst busy.ctprof.zst
  printf '\n%s\n' "To see every figure: tools/dev ctprof compare build/try/idle.ctprof.zst build/try/busy.ctprof.zst --details"
}
