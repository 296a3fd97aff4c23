# shellcheck shell=dash
# Windows in which threads end that know what they did: as this kernel can, and by netlink alone.

record_window() { # record_window NAME [OPTION...]: one of processes, one of threads
  local name=$1 kind
  shift
  for kind in processes threads; do
    step "window $name of $kind"
    /suite/tools/ctprof/ctprof "$@" record -o "/out/windows/$name-$kind.ctprof.zst" -- \
      /suite/ends "$kind" 100 "/out/windows/$name-$kind.lines" >"/out/windows/$name-$kind.log" 2>&1
    note "window-$name-$kind $?"
  done
}

run_windows() {
  mkdir -p /out/windows
  record_window best
  record_window netlink --plugins=procfs-sched,taskstats
}
