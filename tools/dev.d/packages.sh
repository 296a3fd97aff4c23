# Debian packages, and other programs that read ctprof's files, for the commands of tools/dev.
#
# Each list belongs to one purpose; a command installs only the lists that it needs.

readonly for_build=(bpftool ccache clang-14 g++ libboost1.81-dev libboost-{filesystem,json,program-options,test}1.81-dev libbpf-dev libcurl4-openssl-dev libdw-dev
  libelf-dev libiberty-dev liblzma-dev libncurses-dev libnl-genl-3-dev libprotozero-dev libre2-dev libzstd-dev meson ninja-build pkgconf
  python3 zlib1g-dev)
readonly for_format=(clang-format-14 git)
readonly for_clang=(libclang-rt-14-dev lld-14 llvm-14)
readonly for_test=("${for_format[@]}" "${for_clang[@]}" binutils dwz fish libcap2-bin locales man-db mandoc musl-tools shellcheck strace zsh zstd)
readonly for_live=(iproute2 libjemalloc-dev libjemalloc2 linux-perf procps redis-tools tmux)
readonly for_readers=(cargo chromium libdevel-nytprof-perl nodejs python3-pip rustc)
readonly for_vm=(busybox-static e2fsprogs qemu-system-x86)
readonly for_arm64=(g++-aarch64-linux-gnu qemu-system-arm)
readonly for_soak=(default-jdk-headless git golang-go libpq5 libxslt1.1 linux-perf mmdebstrap nodejs openssl perl python3 redis-tools rustc sqlite3)
readonly for_deb=(debhelper dpkg-dev fakeroot libboost-{filesystem,json,program-options,test}1.81-dev lintian ninja-build pkgconf python3)
readonly for_docs=(mkdocs python3)
readonly for_bench=(libbenchmark-dev libjemalloc-dev libjemalloc2 libncursesw6 procps zstd)

note() { printf 'dev: %s\n' "$*" >&2; }

# logged NAME COMMAND...: runs the command, and prints its output only if it fails.
logged() {
  local log=$logs/$1.log
  mkdir -p "$logs"
  "${@:2}" >"$log" 2>&1 || { cat "$log" >&2; return 1; }
}

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}

is_installed() { [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]; }

# need PACKAGE...: installs the packages that are missing.
need() {
  local package missing=()
  for package in "$@"; do is_installed "$package" || missing+=("$package"); done
  [ ${#missing[@]} = 0 ] && return
  note "installing ${missing[*]}"
  local apt=(as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq)
  logged apt "${apt[@]}" update
  logged apt "${apt[@]}" install -y --no-install-recommends "${missing[@]}"
}

# unpack DIRECTORY PACKAGE...: unpacks packages below DIRECTORY instead of installing them, because they would start services.
unpack() {
  local directory=$1 package
  mkdir -p "$directory"
  (cd "$directory" && apt-get -qq download "${@:2}" && for package in *.deb; do dpkg-deb -x "$package" . && rm "$package"; done)
}

fetch_promtool() { [ -x "$out/promtool/usr/bin/promtool" ] || unpack "$out/promtool" prometheus; }
fetch_atop() { [ -x "$out/peers/usr/bin/atop" ] || unpack "$out/peers" atop; }
fetch_system_tools() { [ -x "$out/peers/usr/bin/numastat" ] || unpack "$out/peers" sysstat numactl; }
fetch_servers() { [ -x "$out/servers/usr/sbin/nginx" ] || unpack "$out/servers" nginx postgresql-15 postgresql-client-15; }

# Programs that read ctprof's files and that Debian does not package. Tests that need one are skipped if its registry is unreachable.
readonly python_packages=(duckdb==2.0.0 perfetto==0.59.1 protobuf==7.36.2 pandas==3.1.1 pyarrow==26.0.1 chdb==4.4.0 prometheus_client==0.26.0
  opentelemetry_proto==1.45.2)
readonly npm_packages=(speedscope@1.25.0 axe-core@4.10.2)
readonly crates=(inferno@0.12.8)  # crates that contain programs

# Prints the Python packages that are missing in the version above.
list_missing_python_packages() {
  local package
  for package in "${python_packages[@]}"; do [ -d "$out/python/${package/==/-}.dist-info" ] || echo "$package"; done
}

fetch_python_packages() {
  local missing
  mapfile -t missing < <(list_missing_python_packages)
  [ ${#missing[@]} != 0 ] || return 0
  logged python python3 -m pip install --quiet --disable-pip-version-check --upgrade --target "$out/python" "${missing[@]}" \
    || note "cannot install Python packages: ${missing[*]}: no access to a package index"
}

fetch_npm_packages() {
  [ ! -d "$out/npm/node_modules/speedscope" ] || [ ! -d "$out/npm/node_modules/axe-core" ] || return 0
  mkdir -p "$out/npm"
  logged npm npm install --prefix "$out/npm" --no-save --ignore-scripts --silent "${npm_packages[@]}" \
    || note "cannot install npm packages: ${npm_packages[*]}: no access to a registry"
}

fetch_crates() {
  local crate
  command -v cargo >/dev/null || { note "cannot build ${crates[*]}: 'cargo': not installed"; return 0; }
  for crate in "${crates[@]}"; do
    [ ! -d "$out/${crate%@*}/bin" ] || continue
    logged cargo cargo install --quiet --locked --root "$out/${crate%@*}" "$crate" \
      || note "cannot build '$crate': no access to a registry of crates"
  done
}

fetch_readers() {
  fetch_python_packages
  fetch_npm_packages
  fetch_crates
  logged promtool fetch_promtool || note "cannot fetch promtool: Debian package 'prometheus': download failed"
}
