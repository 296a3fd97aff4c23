# shellcheck shell=dash
# Runs the unit tests that the machine that built them cannot run.

run_units() {
  local program name
  for program in /suite/units/*; do
    [ -e "$program" ] || return 0
    name=${program##*/}
    BOOST_TEST_RUN_FILTERS=$(cat /suite/units_filter) CTPROF_PLUGIN_BUILD_DIR=/suite/plugins FIXTURES=/suite/fixtures "$program" >"/out/unit-$name" 2>&1
    echo "$name $?" >>/out/units
  done
}
