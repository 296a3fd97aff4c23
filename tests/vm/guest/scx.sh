# shellcheck shell=dash disable=SC2034  # lib.sh reads $options
# BPF schedulers: one that takes all, one that takes who asks, one that refuses, one that stalls; and a CPU that goes and comes.

load() { # load VARIANT: until unload
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

see() { # see NAME
  capture "scx-$1"
  record threads "scx-$1"
}

load_and_see() {
  load "$1"
  see "$1"
  unload
}

told() { # told NAME [WORD...]: what `plugins` says; the words stand before ctprof
  local name=$1
  shift
  "$@" /suite/tools/ctprof/ctprof plugins --format json >"/out/scx-$name.json"
}

without_syslog() { /usr/bin/setpriv --bounding-set=-syslog --inh-caps=-syslog "$@"; }

# The kernel keeps addresses to itself: from who has not one capability, then from all.
see_without_addresses() {
  echo 1 >/proc/sys/kernel/kptr_restrict
  capture scx-denied without_syslog
  told denied without_syslog
  echo 2 >/proc/sys/kernel/kptr_restrict
  told hidden
  echo 0 >/proc/sys/kernel/kptr_restrict
}

run_scx() {
  [ -e /sys/kernel/sched_ext ] && [ -e /suite/scx_load ] || return 0
  options=--plugins=task-iter,procfs-sched,sched_ext
  load full
  see full
  see_without_addresses
  unload
  see unloaded
  load_and_see partial
  load stall
  sleep 3 # the watchdog looks twice a second
  see stalled
  unload
  load_and_see reject
  echo 0 >/sys/devices/system/cpu/cpu1/online
  echo 1 >/sys/devices/system/cpu/cpu1/online
  see hotplug
  options=
}
