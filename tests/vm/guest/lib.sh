# shellcheck shell=dash disable=SC2154  # suite.sh sets $options and $processes
# Functions of all steps of the suite. /suite contains the programs, and /out the files for the host: captures with their messages and exit
# statuses, plain copies of kernel files, and notes as `name value` lines.

step() { echo "step: $(cut -d' ' -f1 /proc/uptime) $*" >/dev/console; }

# Opens pipes in this shell. Opening a pipe blocks until its other end is open, and is repeated if an exiting child interrupts it.
open_pipes() { # open_pipes REDIRECTION...
  local one tries
  for one; do
    tries=0
    until eval "command exec $one"; do
      tries=$((tries + 1))
      [ "$tries" -lt 20 ] || exit 1
    done
  done
}

make_output_directories() { # any user may write captures there
  mkdir -p /out/captures/rows /out/captures/columns /out/plain
  chmod 777 /out/captures/rows /out/captures/columns
}

# Makes one capture in each layout, directly one after the other.
capture() { # capture NAME [WORD...]: the words precede ctprof; $options are its options
  local name=$1 layout out
  shift
  for layout in rows columns; do
    out=/out/captures/$layout
    step "capture $name in $layout"
    # shellcheck disable=SC2086  # several options
    "$@" /suite/tools/ctprof/ctprof $options capture --jobs 2 --layout "$layout" -o "$out/$name.ctprof.zst" >"$out/$name.log" 2>&1
    echo "$name $?" >>"$out/statuses"
  done
}

by_files() { # by_files NAME: captures threads only by /proc and netlink
  options=--plugins=procfs-sched,taskstats
  capture "$1"
  options=
}

# Copies the files that a capture reads for the test's processes, and with `all` those of cgroups and the host.
record() { # record all|threads NAME
  step "record $2"
  # shellcheck disable=SC2086  # several pids
  /suite/record "$1" "/out/plain/$2" $processes
}

note() { echo "$*" >>/out/notes; }

set_switch() { # set_switch FILE VALUE: does nothing if the kernel lacks the switch
  if [ -e "$1" ]; then echo "$2" >"$1"; fi
}

as_user() { # as_user CAPABILITIES COMMAND...: runs as uid 1000, with e.g. "+net_admin,+bpf", or "" for none
  local capabilities=$1
  shift
  if [ -n "$capabilities" ]; then
    set -- "--inh-caps=$capabilities" "--ambient-caps=$capabilities" "$@"
  fi
  /usr/bin/setpriv --reuid=1000 --regid=1000 --clear-groups "$@"
}
