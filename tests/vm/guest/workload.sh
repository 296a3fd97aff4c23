# shellcheck shell=dash disable=SC2154  # suite.sh sets $jemalloc
# Makes two captures around all kinds of work. The second one also captures sleeping threads, between plain copies of the same files.

prepare_host() {
  note delayacct_at_boot "$(cat /proc/sys/kernel/task_delayacct 2>/dev/null)"
  set_switch /proc/sys/kernel/sched_schedstats 1
  set_switch /proc/sys/kernel/task_delayacct 1
  set_switch /sys/module/zswap/parameters/enabled Y
  set_switch /sys/kernel/mm/lru_gen/enabled 0 # only the older reclaim detects a working set
  # The balancer regards every cache as warm: it first refuses migrations, and then forces them.
  set_switch /proc/sys/kernel/sched_migration_cost_ns -1
  set_switch /sys/kernel/debug/sched/migration_cost_ns 4294967295
  set_switch /sys/kernel/mm/transparent_hugepage/enabled madvise
  set_switch /sys/kernel/mm/transparent_hugepage/defrag madvise
  dd if=/dev/zero of=/disk/swap bs=1M count=48 2>/dev/null
  mkswap /disk/swap >/dev/null && swapon /disk/swap
}

make_cgroup() { # make_cgroup NAME [FILE VALUE]...
  local name=/sys/fs/cgroup/vm/$1
  shift
  mkdir "$name"
  while [ $# -gt 1 ]; do
    set_switch "$name/$1" "$2"
    shift 2
  done
}

prepare_cgroups() {
  local all="+cpu +memory +io +pids +cpuset"
  echo "$all" >/sys/fs/cgroup/cgroup.subtree_control
  mkdir /sys/fs/cgroup/vm
  echo "$all" >/sys/fs/cgroup/vm/cgroup.subtree_control
  make_cgroup rest
  make_cgroup io cpu.weight 250 memory.low 1048576 memory.min 524288
  make_cgroup limit memory.max 8M
  make_cgroup swap memory.max 8M memory.high 7M memory.swap.max 40M
  make_cgroup thrash memory.max 8M
  make_cgroup throttled cpu.max "10000 50000"
  make_cgroup burst cpu.max "10000 50000" cpu.max.burst 10000
  make_cgroup pids pids.max 2
  make_cgroup quiet cpu.weight.nice 3
  make_cgroup silent cgroup.pressure 0
}

join() { echo 0 >"/sys/fs/cgroup/vm/$1/cgroup.procs"; } # join CGROUP: moves the calling shell

# start NAME CGROUP COMMAND...: starts a program in the background. It exits when its input pipe /run/NAME.in is closed.
start() {
  local name=$1 group=$2
  shift 2
  mkfifo "/run/$name.in" "/run/$name.out"
  (
    join "$group"
    cd /disk && exec "$@" <"/run/$name.in" >"/run/$name.out" 2>"/out/$name.log"
  ) &
  processes="$processes $!"
}

start_all() {
  local word
  start drives rest /suite/drives
  open_pipes '5>/run/drives.in' '6</run/drives.out'
  read -r word <&6 && [ "$word" = ready ] || return 1
  processes="$processes $(cat "/proc/$!/task/$!/children")"
  start sleepers quiet /suite/sleepers
  open_pipes '7>/run/sleepers.in' '8</run/sleepers.out'
  read -r word <&8
}

start_heap() { # as another user, in the cgroup without pressure files
  local word
  start heap silent /usr/bin/setpriv --reuid=1000 --regid=1000 --clear-groups /bin/busybox env LD_PRELOAD="$jemalloc" /suite/heap_preloaded 3
  open_pipes '9>/run/heap.in' '3</run/heap.out'
  read -r word <&3
}

work() {
  local word
  step work
  echo go >&5
  read -r word <&6 && [ "$word" = "done" ]
}

# Lets everything wait for the disk for about 0.1 s, long enough to show in the average of five minutes, also on a fast host.
press_disk() {
  local round
  for round in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    dd if=/dev/zero of="/pressure$round" bs=1M count=2 2>/dev/null
    sync
  done
  rm -f /pressure*
}

end_heap() { # the program then prints its counters
  exec 9>&-
  cat <&3 >/out/heap
}

run_workload() {
  step prepare
  prepare_host
  prepare_cgroups
  step start
  start_all || return 1
  capture first
  start_heap
  work || return 1
  press_disk
  sleep 3 # averages of pressure are updated every two seconds
  record all before
  by_files files-before
  capture second
  by_files files-after
  record all after
  /suite/tools/ctprof/ctprof plugins --format json >/out/plugins.json
  step slept
}
