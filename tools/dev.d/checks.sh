# Checks: commands and Meson tests whose results a part collects.
#
# $part, which run_part sets, is the part whose checks run. Each part has its own logs.
# A result is a line of $found: OK, FAIL or SKIP, a tab, the name of the check, a tab, its duration in seconds.
# results.py turns the lines of one part into build/results/<part>.json.

found=$logs/results
fail_fast=false

# stopped: with --fail-fast, true once a check failed.
stopped() { "$fail_fast" && [ "$(count FAIL)" != 0 ]; }

# require PACKAGE...: installs packages for a part; a part runs without errexit, so a failure becomes a result.
require() { need "$@" || add_result FAIL "installing Debian packages" 0; }

add_result() { printf '%s\t%s\t%s\n' "$1" "$2" "$3" >>"$found"; }
print_line() { printf '  %-14s %-38s %4d s\n' "$1" "$2" "$3"; }
count() { grep -c "^$1	${2-}" "$found" || true; }
print_tally() { printf '%d passed, %d failed, %d skipped' "$(count OK "${1-}")" "$(count FAIL "${1-}")" "$(count SKIP "${1-}")"; }

# check NAME COMMAND...: runs one check, and prints the end of its output if it fails. The command runs without errexit.
check() {
  ! stopped || return 1
  local name=$1 log=$logs/$part-$1.log start=$SECONDS
  if "${@:2}" >"$log" 2>&1; then
    add_result OK "$name" $((SECONDS - start))
    print_line "$name" passed $((SECONDS - start))
  else
    add_result FAIL "$name" $((SECONDS - start))
    print_line "$name" "FAILED, the end of ${log#"$root/"}:" $((SECONDS - start))
    tail -n 60 "$log"
    return 1
  fi
}

list_tracked() { git -c safe.directory="$root" ls-files "$@"; }
# The frozen ABI keeps its original format.
list_sources() { list_tracked '*.c' '*.cc' '*.h' '*.hpp' ':!tests/contract/abi_v1'; }
# The checker follows `source`, so that the files in tools/dev.d are checked as parts of tools/dev.
list_scripts() { git -c safe.directory="$root" grep -lE '^#!/.*[/ ](ba)?sh$' -- .; }

check_format() { list_sources | xargs clang-format-14 --dry-run -Werror; }
check_scripts() { list_scripts | xargs shellcheck --external-sources --check-sourced; }
check_house_rules() { python3 tests/house/rules.py; }

# run_tests VARIANT OPTION...: runs Meson tests of a build.
run_tests() {
  ! stopped || return 0
  local variant=$1 start=$SECONDS log=$logs/$part-$1-tests.log status=0 options=()
  ! "$fail_fast" || options=(--maxfail 1)
  rm -f "$out/$variant/meson-logs/testlog.json"
  # The sanitizers of GCC 12 and Clang 14 cannot place their shadow memory under the address randomization of new kernels.
  setarch -R meson test -C "$out/$variant" --no-rebuild --print-errorlogs "${options[@]}" "${@:2}" >"$log" 2>&1 || status=$?
  python3 tools/dev.d/results.py tests "$variant" "$out/$variant/meson-logs/testlog.json" >>"$found" || add_result FAIL "$variant: no list of results" 0
  print_line "$variant tests" "$(print_tally "$variant: ")" $((SECONDS - start))
  [ "$status" = 0 ] || tail -n 100 "$log"
}

# build_tests VARIANT SUITE...: builds exactly what the tests of these suites need.
build_tests() {
  local targets
  # After an update of the tree, Meson has to list its tests again. `compile` reports what fails.
  ninja -C "$out/$1" build.ninja >/dev/null 2>&1 || true
  mapfile -t targets < <(python3 tools/dev.d/results.py targets "$out/$1" "${@:2}")
  compile "$1" "${targets[@]}"
}
