# Builds: build/release with GCC for users; build/asan, build/tsan and build/fuzz with Clang for tests and fuzzing.

# Lets ccache reuse objects that were compiled in another checkout.
export CCACHE_BASEDIR=$root CCACHE_NOHASHDIR=true CCACHE_SLOPPINESS=pch_defines,time_macros

# Not --buildtype: it would set the optimization to 3 when a build is configured again.
readonly release_options=(-Doptimization=2 -Ddebug=false)
# Line tables suffice for stack traces and compile faster than full debug information. lld's default build ids are shorter than SHA-1.
readonly checked_options=(-Doptimization=1 -Ddebug=true -Db_lundef=false -Dcpp_args=-gline-tables-only
  '-Dcpp_link_args=-Wl,--build-id=sha1')
readonly asan_options=("${checked_options[@]}" '-Db_sanitize=address,undefined')
readonly fuzz_options=("${asan_options[@]}" '-Dcpp_args=-gline-tables-only -fsanitize=fuzzer-no-link')
readonly tsan_options=("${checked_options[@]}" -Db_sanitize=thread)

# configure DIRECTORY OPTION...: configures a build once, and again after packages were installed or if it was configured with
# other options. Meson itself detects changes of its files.
configure() {
  local directory=$out/$1 options="${*:2}"
  if [ ! -f "$directory/build.ninja" ]; then
    meson setup "$directory" "${@:2}"
  elif [ "$logs/apt.log" -nt "$directory/build.ninja" ] || [ "$(cat "$directory/options" 2>/dev/null)" != "$options" ]; then
    meson setup --reconfigure "$directory" "${@:2}"
  fi
  echo "$options" > "$directory/options"
}

# Meson finds ccache only for a compiler that it selects itself.
configure_with_clang() {
  CC='ccache clang-14' CXX='ccache clang++-14' CC_LD=lld CXX_LD=lld configure "$@"
}

compile() { ninja -C "$out/$1" -j "$jobs" "${@:2}"; }

# The last commit whose reader knows neither entities, labels nor histograms of plugins. tests/contract/older_reader_test.py runs
# its ctprof on files of this tree.
readonly older_commit=bb16bb15f769774980e5fd7d9a182e246af01836

# build_older_reader: builds the ctprof of that commit once, in build/older-reader. It reads only small files, so it is not optimized.
build_older_reader() {
  local source=$out/older-reader/source
  [ ! -x "$source/build/tools/ctprof/ctprof" ] || return 0
  mkdir -p "$source"
  git -c safe.directory="$root" archive "$older_commit" | tar -x -C "$source"
  [ -f "$source/build/build.ninja" ] || meson setup "$source/build" "$source" -Doptimization=0 -Ddebug=false
  ninja -C "$source/build" -j "$jobs" tools/ctprof/ctprof
}

has_older_commit() { git -c safe.directory="$root" cat-file -e "$older_commit^{commit}" 2>/dev/null; }

# build_product TARGET...: builds the tool, its plugins and the named targets. Prints nothing on standard output.
build_product() {
  need "${for_build[@]}"
  logged configure configure release "${release_options[@]}"
  if [ -x "$ctprof" ]; then set -- --quiet "$@"; else note "building in build/release; the first build takes some minutes"; fi
  compile release product "$@" >&2
}
