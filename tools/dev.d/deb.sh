# `tools/dev deb`: builds the Debian packages.

# Builds in a copy of the tracked files, so that local files and the path of the tree do not affect the packages. Without
# SOURCE_DATE_EPOCH, dpkg-buildpackage takes the date of the changelog for all files.
run_deb() {
  need "${for_build[@]}" "${for_deb[@]}"
  local into=${1:-$out/deb} version
  version=$(dpkg-parsechangelog -l tools/packaging/debian/changelog -S Version)
  mkdir -p "$into" "$logs"
  into=$(cd "$into" && pwd)
  local copy=$into/ctprof-$version
  rm -rf "$copy" "$into"/*.deb "$into"/*.buildinfo "$into"/*.changes
  mkdir "$copy"
  list_tracked -z . | while IFS= read -rd '' file; do [ ! -e "$file" ] || printf '%s\0' "$file"; done | xargs -0 cp --parents -Pt "$copy"
  cp -r tools/packaging/debian "$copy/debian"
  note "building packages in $copy, for some minutes"
  (cd "$copy" && env -u SOURCE_DATE_EPOCH DEB_BUILD_OPTIONS="parallel=$jobs nocheck" \
    dpkg-buildpackage --build=binary --no-sign >"$logs/deb.log" 2>&1) || { tail -n 60 "$logs/deb.log" >&2; return 1; }
  rm -r "$copy"
  ls "$into"/*.deb
}

