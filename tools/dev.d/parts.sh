# Parts of the tests. `tools/dev test` runs the short part, which is deterministic; the other parts run by name.
#
# Every Meson test belongs to one of the suites short, live and readers; tests of the suite asan also run under ASan.

# The short part: no live threads except those of the smoke test, Debian packages only.
run_short_part() {
  require "${for_build[@]}" "${for_test[@]}"
  check format check_format || true
  check shellcheck check_scripts || true
  check house check_house_rules || true
  check release build_release_tests short && run_tests release --suite short
  check asan build_asan_tests asan && run_tests asan --suite asan --timeout-multiplier 4
}

build_release_tests() { configure release "${release_options[@]}" && build_tests release "$@"; }
build_asan_tests() { configure_with_clang asan "${asan_options[@]}" && build_tests asan "$@"; }
build_tsan_tests() { configure_with_clang tsan "${tsan_options[@]}" && build_tests tsan "$@"; }

export ASAN_OPTIONS=detect_stack_use_after_return=1:strict_string_checks=1:allow_addr2line=1
export UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1 TSAN_OPTIONS=halt_on_error=1

# Tests of the suite `concurrent` run two at a time, the others alone.
run_live_part() {
  require "${for_build[@]}" "${for_test[@]}" "${for_live[@]}"
  logged system-tools fetch_system_tools || note "cannot fetch sysstat and numactl: Debian packages: download failed"
  check release build_release_tests live || return 0
  run_tests release --suite concurrent --num-processes 2
  run_tests release --suite live --no-suite concurrent --num-processes 1
}

run_readers_part() {
  require "${for_build[@]}" "${for_test[@]}" "${for_readers[@]}"
  fetch_readers
  if has_older_commit; then
    check "older reader" build_older_reader || true
  else
    note "cannot build the older reader: commit $older_commit: not in this clone; run 'git fetch --unshallow'"
  fi
  check release build_release_tests readers && run_tests release --suite readers
}

# Runs the product on Debian kernels in emulated machines (tests/vm/README.md).
run_kernels_part() {
  require "${for_build[@]}" "${for_vm[@]}"
  check release build_kernels || return 0
  local start=$SECONDS log=$logs/vm.log lines=$logs/vm-results status=0
  : >"$lines"
  tests/vm/run.py --build "$out/release" --results "$lines" "$@" >"$log" 2>&1 || status=$?
  [ -s "$lines" ] || add_result FAIL "vm: no list of results" 0
  sed 's/$/\t0/' "$lines" >>"$found"
  print_line kernels "$(print_tally 'vm ')" $((SECONDS - start))
  [ "$status" = 0 ] || grep -v '^OK' "$log" | tail -n 60
}

build_kernels() { configure release "${release_options[@]}" && compile release; }

# Runs under ASan every suite in which C++ of the product works, and under TSan those in which several threads of it do.
# TSan delays signals, so it does not suit terminals and stopped processes.
run_sanitizers_part() {
  require "${for_build[@]}" "${for_test[@]}" "${for_live[@]}"
  local suite without=() threads=()
  for suite in must_not_compile report packaging hunts fleet terminal readers docs statistics; do without+=(--no-suite "$suite"); done
  for suite in unit contract recorded record sanitized; do threads+=(--suite "$suite"); done
  check asan build_asan && run_tests asan --suite short "${without[@]}" --timeout-multiplier 4 &&
    run_tests asan --suite live "${without[@]}" --timeout-multiplier 4 --num-processes 1
  check tsan build_tsan && CTPROF_JOBS=4 run_tests tsan "${threads[@]}" "${without[@]}" --timeout-multiplier 8 --num-processes 1
}

build_asan() { configure_with_clang asan "${asan_options[@]}" && compile asan; }
build_tsan() { configure_with_clang tsan "${tsan_options[@]}" && compile tsan; }

# fuzz_one TARGET SECONDS: keeps the corpus and failing inputs in build/corpus/<target>/ for the next run.
fuzz_one() {
  local name=$1 seconds=$2 corpus=$out/corpus/$1 seeds=$root/tests/fuzz/seeds/$1
  mkdir -p "$corpus/inputs"
  set -- "$corpus/inputs"
  [ ! -d "$seeds" ] || set -- "$@" "$seeds"
  [ ! -f "tests/fuzz/$name.dict" ] || set -- "-dict=tests/fuzz/$name.dict" "$@"
  setarch -R "$out/fuzz/tests/fuzz/$name" -max_total_time="$seconds" -artifact_prefix="$corpus/" "$@"
}

build_fuzzers() { configure_with_clang fuzz "${fuzz_options[@]}" && compile fuzz fuzz; }

# run_fuzz_part SECONDS [TARGET...]: runs every target or the named ones, as many at a time as there are CPUs.
run_fuzz_part() {
  local seconds=$1 name
  local targets=("${@:2}")
  require "${for_build[@]}" "${for_clang[@]}"
  [ ${#targets[@]} != 0 ] || for name in tests/fuzz/fuzz_*.cc; do targets+=("$(basename "$name" .cc)"); done
  check fuzz build_fuzzers || return 0
  for name in "${targets[@]}"; do
    while [ "$(jobs -rp | wc -l)" -ge "$jobs" ]; do wait -n || true; done
    check "$name" fuzz_one "$name" "$seconds" &
  done
  wait
}

# run_part NAME ARGUMENT...: runs one part and writes its result file. Fails if a check failed.
run_part() {
  local part=$1 start
  start=$(date +%s)
  echo "$part:"
  mkdir -p "$logs" "$out/results"
  found=$logs/$part-results
  : >"$found"
  "run_${part}_part" "${@:2}"
  python3 tools/dev.d/results.py write "$part" "$found" "$start" "$out/results/$part.json"
  ! grep -q '^FAIL' "$found"
}

run_test() {
  local parts=() kernels=() seconds=20 all=false
  while [ $# -gt 0 ]; do
    case $1 in
      --live | --readers | --kernels | --sanitizers) parts+=("${1#--}") ;;
      --all-kernels) parts+=(kernels) && kernels=(--all-kernels) && need "${for_arm64[@]}" ;;
      --fuzz)
        [[ ${2-} =~ ^[0-9]+$ ]] || { note "test: --fuzz requires a number of seconds" && exit 2; }
        parts+=(fuzz) && seconds=$2 && shift
        ;;
      --all) all=true && parts=(short live readers kernels sanitizers fuzz) ;;
      --fail-fast) fail_fast=true ;;
      *) note "test: unknown option '$1'" && exit 2 ;;
    esac
    shift
  done
  [ ${#parts[@]} != 0 ] || parts=(short)
  local part failed=()
  for part in "${parts[@]}"; do
    case $part in
      kernels) set -- "${kernels[@]}" ;;
      fuzz) set -- "$seconds" ;;
      *) set -- ;;
    esac
    run_part "$part" "$@" || failed+=("$part")
    ! stopped || break
  done
  print_summary "$all" "${parts[@]}"
  [ ${#failed[@]} = 0 ]
}

# print_summary ALL PART...: names each failed and skipped check, then prints the total as the last line. With --all, unexpected skips fail.
print_summary() {
  local all=$1 part files=() options=()
  for part in "${@:2}"; do files+=("$out/results/$part.json"); done
  ! "$all" || { run_results && options=(--expected-skips tests/expected_skips); }
  python3 tools/dev.d/results.py summary "${options[@]}" "${files[@]}"
}

run_results() { python3 tools/dev.d/results.py table "$out/results"; }

run_fuzz() { run_part fuzz "${1:-20}" "${@:2}" && print_summary false fuzz; }
