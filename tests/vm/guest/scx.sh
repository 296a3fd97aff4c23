# shellcheck shell=dash disable=SC2034  # lib.sh reads $options
# BPF schedulers: for all threads, for threads of policy SCHED_EXT, one that refuses threads, one that stalls; and CPU hotplug.

load() { # load VARIANT: loads a scheduler, which stays until unload
  local word=
  mkfifo /run/scx.in /run/scx.out
  /suite/scx_load "/suite/$1.bpf.o" </run/scx.in >/run/scx.out 2>"/out/scx-$1.log" &
  open_pipes '4>/run/scx.in'
  read -r word </run/scx.out
  note "scx-$1 $word"
}

unload() {
  exec 4>&-
  wait $!
  rm -f /run/scx.in /run/scx.out
}

observe() { # observe NAME: captures, and copies the files of threads
  capture "scx-$1"
  record threads "scx-$1"
}

load_and_observe() {
  load "$1"
  observe "$1"
  unload
}

list_plugins() { # list_plugins NAME [WORD...]: stores the output of `plugins`; the words precede ctprof
  local name=$1
  shift
  "$@" /suite/tools/ctprof/ctprof plugins --format json >"/out/scx-$name.json"
}

without_syslog() { /usr/bin/setpriv --bounding-set=-syslog --inh-caps=-syslog "$@"; }

# The kernel hides addresses, first from programs without CAP_SYSLOG, then from all.
observe_without_addresses() {
  echo 1 >/proc/sys/kernel/kptr_restrict
  capture scx-denied without_syslog
  list_plugins denied without_syslog
  echo 2 >/proc/sys/kernel/kptr_restrict
  list_plugins hidden
  echo 0 >/proc/sys/kernel/kptr_restrict
}

run_scx() {
  [ -e /sys/kernel/sched_ext ] && [ -e /suite/scx_load ] || return 0
  options=--plugins=task-iter,procfs-sched,sched_ext
  load full
  observe full
  observe_without_addresses
  unload
  observe unloaded
  load_and_observe partial
  load stall
  sleep 3 # the watchdog checks twice a second
  observe stalled
  unload
  load_and_observe reject
  echo 0 >/sys/devices/system/cpu/cpu1/online
  echo 1 >/sys/devices/system/cpu/cpu1/online
  observe hotplug
  options=
}
