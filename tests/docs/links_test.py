#!/usr/bin/python3
"""Relative links in the Markdown files of the tree lead to existing files and headings (tools/dev.d/links.py)."""

import pathlib
import re
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tools" / "dev.d"))
import links  # noqa: E402


class Links(unittest.TestCase):
    def test_links_of_the_tree_work(self):
        self.assertEqual(links.check_tree(ROOT), [])

    def test_checks_all_pages(self):
        checked = {str(page.relative_to(ROOT)) for page in links.list_pages(ROOT)}
        self.assertLessEqual({"README.md", "docs/index.md", "core/README.md", "sdk/README.md"}, checked)

    def test_navigation_and_index_name_all_pages(self):
        pages = {path.name for path in (ROOT / "docs").glob("*.md")}
        self.assertEqual(set(re.findall(r": (\S+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.M)), pages)
        self.assertEqual(set(re.findall(r"^\| \[[^]]*\]\(([^)]*)\)", (ROOT / "docs" / "index.md").read_text(), re.M)), pages - {"index.md"})

    def problems_of(self, text):
        with tempfile.TemporaryDirectory(prefix="ctprof-links-") as directory:
            page = pathlib.Path(directory) / "page.md"
            page.write_text(text, encoding="utf-8")
            (page.parent / "other.md").write_text("# A title\n\n## What `it` does, and why\n")
            return links.check_tree(directory)

    def test_reports_broken_links(self):
        for text in ("[a](none.md)", "![a](none.png)", '<img src="none.svg" width="100%">', "[a]: none.md", "[a](other.md#none)", "[a](/etc/passwd)"):
            self.assertEqual(len(self.problems_of(f"# Page\n\nText {text}\n" if not text.startswith("[a]:") else text + "\n")), 1, text)

    def test_accepts_links_that_work(self):
        text = "[a](other.md) [b](other.md#what-it-does-and-why) [c](#page) [d](https://example.org/none) `[e](none.md)`\n\n    [f](none.md)\n"
        self.assertEqual(self.problems_of("# Page\n\n" + text), [])

    def test_names_the_line(self):
        self.assertTrue(self.problems_of("# Page\n\n```\ncode\n```\n\n[a](none.md)\n")[0].startswith("page.md:7: "))


if __name__ == "__main__":
    unittest.main()
