# shellcheck shell=dash disable=SC2034  # lib.sh reads $options
# Captures with changed kernel switches and as different users. Each must lack exactly the values that depend on the switch or right.

with_switch() { # with_switch NAME FILE VALUE: captures while the switch has the value
  local was
  [ -e "$2" ] || return 0
  was=$(cat "$2")
  echo "$3" >"$2"
  capture "$1"
  echo "$was" >"$2"
}

run_switches() {
  local scope
  with_switch schedstats-off /proc/sys/kernel/sched_schedstats 0
  with_switch delayacct-off /proc/sys/kernel/task_delayacct 0
  capture user as_user ""
  capture net-admin as_user +net_admin
  options=--plugins=procfs-sched
  capture reader as_user +sys_ptrace,+dac_read_search
  options=--plugins=jemalloc-ptrace
  for scope in 0 1 2; do
    echo "$scope" >/proc/sys/kernel/yama/ptrace_scope
    capture "yama-$scope" as_user ""
    capture "yama-$scope-root"
  done
  echo 0 >/proc/sys/kernel/yama/ptrace_scope
  options=
}

# Moves a process from one new cgroup to the next while captures run, and removes the previous one.
wander() {
  local number=0 last=
  while [ -e /run/wander ]; do
    number=$((number + 1))
    mkdir "/sys/fs/cgroup/vm/gone-$number"
    echo "$1" >"/sys/fs/cgroup/vm/gone-$number/cgroup.procs"
    [ -z "$last" ] || rmdir "$last"
    last=/sys/fs/cgroup/vm/gone-$number
  done
  kill "$1"
  note "wandered $number"
}

run_removal() {
  local round wanderer
  sleep 600 &
  wanderer=$!
  touch /run/wander
  wander "$wanderer" &
  options=--plugins=cgroup,psi
  for round in 1 2 3; do capture "removal-$round"; done
  options=
  rm /run/wander
  wait $!
}
