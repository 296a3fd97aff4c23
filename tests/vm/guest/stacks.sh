# shellcheck shell=dash
# Records call stacks of a program whose functions are known, also while kernel threads work; of a program with threads and a library that
# it closes; and during CPU hotplug.

record_stacks() { # record_stacks NAME WORD...; $plugins are ctprof's options
  local name=$1
  shift
  step "stacks $name"
  /suite/tools/ctprof/ctprof ${plugins:+"$plugins"} record --recorders on-cpu --metrics run_time_ns -o "/out/stacks/$name.ctprof.zst" "$@" \
    >"/out/stacks/$name.log" 2>&1
  note "stacks-$name $?"
}

# Records two seconds of the program. It is stopped while ctprof starts and ends, because the emulated CPUs are slow and share one host CPU.
record_known() { # record_known NAME PROGRAM COMMAND WORD...: COMMAND runs meanwhile, for example "sleep 2"; WORDs are options of ctprof
  local name=$1 program=$2 command=$3 known
  shift 3
  [ -e "/suite/$program" ] || return 0
  "/suite/$program" &
  known=$!
  until [ "$(cat "/proc/$known/comm")" = "$program" ]; do sleep 0.1; done
  kill -STOP "$known"
  # shellcheck disable=SC2016  # the words are for the shell inside
  record_stacks "$name" "$@" -- /bin/busybox sh -c '. /suite/stacks.sh; kill -CONT "$1"; $2; kill -STOP "$1"' sh "$known" "$command"
  kill -9 "$known"
  wait "$known" 2>/dev/null
}

flush() { # writes files, which kernel threads then write to the disk
  local round
  for round in 1 2 3 4 5 6 7 8; do
    dd if=/dev/zero of="/disk/flushed$round" bs=64k count=64 2>/dev/null
    sync
  done
  rm -f /disk/flushed*
}

seconds() { cut -d' ' -f1 /proc/uptime; }

# Notes the times around each step. The program that starts at the end is bound to CPU 1.
move_cpu() {
  local before
  sleep 1
  before=$(seconds)
  echo 0 >/sys/devices/system/cpu/cpu1/online || exit
  note "stacks-cpu-went $before $(seconds)"
  sleep 1
  before=$(seconds)
  echo 1 >/sys/devices/system/cpu/cpu1/online || exit
  note "stacks-cpu-came $before $(seconds)"
  taskset 2 /run/known-back &
  sleep 2
  kill $!
}

# Records two seconds in which a process sleeps, once with each recorder of waits.
record_waits() {
  local recorder sleeper before
  /bin/busybox sleep 3600 &
  sleeper=$!
  echo "$sleeper" >/out/stacks/sleeper
  for recorder in off-cpu sleepers; do
    step "stacks $recorder"
    before=$(seconds)
    /suite/tools/ctprof/ctprof --plugins="$recorder,procfs-sched" record --recorders "$recorder" --metrics run_time_ns -d 2s \
      -o "/out/stacks/$recorder.ctprof.zst" >"/out/stacks/$recorder.log" 2>&1
    note "stacks-$recorder $?"
    note "stacks-$recorder-took $before $(seconds)"
  done
  kill "$sleeper"
  wait "$sleeper" 2>/dev/null
}

run_stacks() {
  local plugins=--plugins=on-cpu,procfs-sched # other plugins start more slowly than such a window lasts
  mkdir -p /out/stacks
  record_known cfi-99 known "sleep 2" --freq 99
  record_known cfi-999 known flush --freq 999
  awk '/^Pid:/ { pid = $2 } /^PPid:/ && $2 == 2 { print pid }' /proc/[0-9]*/status >/out/stacks/of-kernel 2>/dev/null
  note "stacks-signs $(grep -cw paca /proc/cpuinfo)"
  note "stacks-defers $(/suite/defers)"
  record_known fp-999 known_fp "sleep 2" --freq 999 --unwind fp
  record_known signed-999 known_signed "sleep 2" --freq 999
  record_known signed-fp-999 known_signed_fp "sleep 2" --freq 999 --unwind fp
  plugins=
  [ ! -e /suite/shares ] || SHARES_LIBRARY=/suite/libshares.so record_stacks shares --freq 999 -- /suite/shares 2 40 20 10 5
  cp /suite/known /run/known-back
  /suite/known &
  record_stacks cpu --freq 999 -- /bin/busybox sh -c '. /suite/lib.sh; . /suite/stacks.sh; move_cpu'
  kill $!
  wait $! 2>/dev/null
  record_waits
}
