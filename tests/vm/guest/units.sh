# shellcheck shell=dash
# The unit tests, where the machine that built them could not run them.

run_units() {
  local program name
  for program in /suite/units/*; do
    [ -e "$program" ] || return 0
    name=${program##*/}
    CTPROF_PLUGIN_BUILD_DIR=/suite/plugins "$program" >"/out/unit-$name" 2>&1
    echo "$name $?" >>/out/units
  done
}
