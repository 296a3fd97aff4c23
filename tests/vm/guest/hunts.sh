# shellcheck shell=dash
# A hunt: a program repeatedly reads a file that is in memory. Then the memory of its cgroup is limited.

record_reader() { # record_reader NAME COMMAND: records while the shell runs the command
  step "hunt $1"
  /suite/tools/ctprof/ctprof record -o "/out/hunts/$1.ctprof.zst" -- /bin/busybox sh -c "$2" >"/out/hunts/$1.log" 2>&1
  note "hunt-$1 $?"
}

run_hunts() {
  local word
  mkdir -p /out/hunts
  make_cgroup hunt
  dd if=/dev/zero of=/disk/read-again bs=1M count=24 2>/dev/null
  sync
  echo 3 >/proc/sys/vm/drop_caches # otherwise the pages stay charged to the cgroup that wrote them
  start reader hunt /suite/troubles reader hunt-reader /disk/read-again
  open_pipes '9>/run/reader.in' '3</run/reader.out'
  read -r word <&3 && [ "$word" = ready ] || return 1
  sleep 2
  record_reader free "sleep 3"
  record_reader limited "echo 8M >/sys/fs/cgroup/vm/hunt/memory.high; sleep 3"
  exec 9>&- 3<&-
}
