# shellcheck shell=dash disable=SC2034,SC2154  # lib.sh reads $options and has the functions
# Programs that use jemalloc other than by preloading. Each runs separately, is captured, and prints jemalloc's own counters at its end.

run_heap() { # run_heap PROGRAM
  local word=
  mkfifo /run/heaps.in /run/heaps.out
  "/suite/$1" 3 </run/heaps.in >/run/heaps.out &
  open_pipes '4>/run/heaps.in' '3</run/heaps.out'
  read -r word <&3
  note "$1 $word"
  capture "$1"
  exec 4>&-
  cat <&3 >"/out/$1"
  exec 3<&-
  rm -f /run/heaps.in /run/heaps.out
}

run_heaps() {
  local program
  options=--plugins=jemalloc-ptrace
  for program in linked archive archive_stripped static static_stripped; do
    [ ! -e "/suite/heap_$program" ] || run_heap "heap_$program"
  done
  options=
}
