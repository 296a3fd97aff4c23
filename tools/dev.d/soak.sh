# `tools/dev soak`: the long forms of tests, with more rounds or more time than the parts have.

# is_selected NAME WORD...: true if NAME is one of the words, or if there are none.
is_selected() {
  local name=$1 word
  shift
  [ $# != 0 ] || return 0
  for word in "$@"; do [ "$word" != "$name" ] || return 0; done
  return 1
}

# Each line of tests/soak.list is a name, a tab, and a command that runs at the top of the tree with BUILD set. It fails by its exit status.
run_soak_part() {
  local name command
  require "${for_build[@]}" "${for_test[@]}" "${for_live[@]}" "${for_readers[@]}" "${for_vm[@]}" "${for_soak[@]}"
  fetch_readers
  logged servers fetch_servers || note "cannot look at nginx and postgresql: Debian packages: download failed"
  check release build_kernels || return 0
  while IFS=$'\t' read -r name command; do
    case $name in '' | '#'*) continue ;; esac
    is_selected "$name" "$@" || continue
    check "$name" env BUILD="$out/release" bash -c "$command" </dev/null || true
  done <tests/soak.list
}

run_soak() { run_part soak "$@" && print_summary false soak; }
