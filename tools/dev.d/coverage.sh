# `tools/dev coverage`: measures which lines of core, plugins and sdk the tests of a suite execute.

readonly for_coverage=(gcovr)
readonly coverage_options=(-Doptimization=0 -Ddebug=false -Db_coverage=true)

# run_coverage [SUITE...]: prints the share of executed lines of each directory. Without a suite, runs the short part.
run_coverage() {
  local suites=("${@:-short}") options=() suite
  for suite in "${suites[@]}"; do options+=(--suite "$suite"); done
  need "${for_build[@]}" "${for_test[@]}" "${for_coverage[@]}"
  logged coverage-configure configure coverage "${coverage_options[@]}"
  logged coverage-build build_tests coverage "${suites[@]}"
  find "$out/coverage" -name '*.gcda' -delete
  setarch -R meson test -C "$out/coverage" --no-rebuild "${options[@]}" --timeout-multiplier 4 >"$logs/coverage-tests.log" 2>&1 \
    || note "coverage: some tests failed: see ${logs#"$root/"}/coverage-tests.log"
  logged coverage-gcovr gcovr --root "$root" --object-directory "$out/coverage" --json-summary "$out/coverage/lines.json" \
    --gcov-ignore-parse-errors -j "$jobs" --filter 'core/' --filter 'plugins/' --filter 'sdk/' "$out/coverage"
  python3 tools/dev.d/coverage.py "$out/coverage/lines.json"
}
