# shellcheck shell=dash disable=SC2154  # suite.sh sets $options and $processes
# What the steps of the suite share. /suite has the programs, /out is what the host gets: captures, their messages and exit statuses,
# plain copies of kernel files, and notes as `name value` lines.

step() { echo "step: $(cut -d' ' -f1 /proc/uptime) $*" >/dev/console; }

# For this shell, and with another try where a child that ends interrupts it: a pipe is opened when its other end is.
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

make_room() { # for captures, by whomever
  mkdir -p /out/captures/rows /out/captures/columns /out/plain
  chmod 777 /out/captures/rows /out/captures/columns
}

# One capture in each layout, one right after the other.
capture() { # capture NAME [WORD...]: the words stand before ctprof; its options are in $options
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

by_files() { # by_files NAME: of threads, by /proc and netlink alone
  options=--plugins=procfs-sched,taskstats
  capture "$1"
  options=
}

# Copies of what a capture reads of our processes, and of all that is not a thread's.
record() { # record all|threads NAME
  step "record $2"
  # shellcheck disable=SC2086  # several pids
  /suite/record "$1" "/out/plain/$2" $processes
}

note() { echo "$*" >>/out/notes; }

set_switch() { # set_switch FILE VALUE: quietly where the kernel has no such switch
  if [ -e "$1" ]; then echo "$2" >"$1"; fi
}

as_user() { # as_user CAPABILITIES COMMAND...: as uid 1000, with "+net_admin,+bpf" or none, ""
  local capabilities=$1
  shift
  if [ -n "$capabilities" ]; then
    set -- "--inh-caps=$capabilities" "--ambient-caps=$capabilities" "$@"
  fi
  /usr/bin/setpriv --reuid=1000 --regid=1000 --clear-groups "$@"
}
