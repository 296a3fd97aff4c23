# shellcheck shell=dash
# Windows in which threads exit that read their own values first: by the best source of the kernel, and only by netlink. Windows with CPU hotplug.

record_window() { # record_window NAME [OPTION...]: records one window with processes and one with threads
  local name=$1 kind
  shift
  for kind in processes threads; do
    step "window $name of $kind"
    /suite/tools/ctprof/ctprof "$@" record -o "/out/windows/$name-$kind.ctprof.zst" -- \
      /suite/ends "$kind" 100 "/out/windows/$name-$kind.lines" >"/out/windows/$name-$kind.log" 2>&1
    note "window-$name-$kind $?"
  done
}

record_cpu() { # record_cpu NAME STATE...: records while CPU 1 is set online (1) or offline (0), one state after the other
  local name=$1
  shift
  step "window $name"
  # shellcheck disable=SC2016  # the words are for the shell inside
  /suite/tools/ctprof/ctprof record -o "/out/windows/$name.ctprof.zst" -- \
    /bin/busybox sh -c 'for state; do echo "$state" >/sys/devices/system/cpu/cpu1/online || exit; done' sh "$@" \
    >"/out/windows/$name.log" 2>&1
  note "window-$name $?"
}

run_windows() {
  mkdir -p /out/windows
  record_window best
  record_window netlink --plugins=procfs-sched,taskstats
  record_cpu cpu-back 0 1
  record_cpu cpu-went 0
  record_cpu cpu-came 1
}
