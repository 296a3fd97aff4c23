# `tools/dev docs`: builds the documentation site.

# Builds the pages of docs/ and the READMEs of the tree in build/docs. Fails on a broken link.
run_docs() {
  need "${for_docs[@]}"
  python3 tools/dev.d/links.py || { note "docs: links are broken"; return 1; }
  mkdir -p "$out"
  logged docs mkdocs build --quiet --strict --clean --site-dir "$out/docs"
  note "documentation: $out/docs/index.html"
}
