#!/usr/bin/python3
"""Tests a report's page in a browser: sorting, filters, keyboard, opening and copying rows, accessibility, hostile names, size.

PICTURES=DIRECTORY keeps screenshots for inspection.
"""

import contextlib
import csv
import io
import itertools
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "flame"))
import browser  # noqa: E402

MAKE = os.environ["MAKE_PAGE"]
AXE = pathlib.Path(os.environ["FETCHED"]) / "npm/node_modules/axe-core/axe.min.js"
SKIP = 77
MAX_BYTES = 3_000_000

HELPERS = """
const visible = () => [...document.querySelectorAll('#rows tbody tr.row:not([hidden])')];
const names = () => visible().map(row => row.cells[0].textContent + ' ' + row.cells[1].textContent);
const column = at => visible().map(row => row.cells[at].textContent);
const field = label => [...document.querySelectorAll('#tools label')].find(l => l.firstChild.textContent.startsWith(label)).children[0];
const set = (label, value) => { const f = field(label); f.value = value; f.dispatchEvent(new Event('input', {bubbles: true})); };
const head = text => [...document.querySelectorAll('#rows thead th')].find(th => th.textContent === text);
const click = text => head(text).querySelector('button').click();
const row = name => visible().find(one => one.cells[0].textContent + ' ' + one.cells[1].textContent === name);
const panel = () => document.querySelector('#rows tr.panel');
const status = () => document.querySelector('[role=status]').textContent;
const showInsignificant = shown => { const f = [...document.querySelectorAll('#tools input[type=checkbox]')][0];
  if (f) { f.checked = shown; f.dispatchEvent(new Event('input', {bubbles: true})); } };
"""


def make(case):
    return subprocess.run([MAKE, case], stdout=subprocess.PIPE, check=True).stdout


class Pages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.browser = browser.Browser()
        cls.files = tempfile.TemporaryDirectory()

    @classmethod
    def tearDownClass(cls):
        cls.browser.close()
        cls.files.cleanup()

    @contextlib.contextmanager
    def page(self, case, switched=False, **options):
        """Opens a page and checks at the end that it reported no problem and requested nothing. `switched`: leave the switch of insignificant
        rows as the page sets it; otherwise they are shown."""
        path = pathlib.Path(self.files.name) / f"{case}.html"
        if not path.exists():
            path.write_bytes(make(case))
        page = browser.Page(self.browser, path, **options)
        if not options.get("script", True):
            page.call("Emulation.setScriptExecutionDisabled", value=False)
        else:
            page.evaluate(HELPERS)
            if not switched:
                page.evaluate("showInsignificant(true)")
        yield page
        self.assertEqual(page.get_problems(), [])
        self.assertEqual(page.get_requests(), [])

    # --- contents

    def test_summary_is_first_and_short(self):
        in_order = "All runs of the baseline and of the candidate were taken one side after the other"
        for case in ("pair", "single", "window", "runs"):
            with self.subTest(case), self.page(case) as page:
                sentences = page.evaluate("[...document.querySelectorAll('.verdict p')].map(p => p.textContent)")
                if sentences[0].startswith(in_order):
                    sentences = sentences[1:]
                self.assertEqual(len(sentences), 3)
                self.assertTrue(all(any(c.isdigit() for c in sentence) or "One run" in sentence for sentence in sentences), sentences)
                self.assertLess(page.evaluate("document.querySelector('.verdict').getBoundingClientRect().bottom"), 400)
                self.assertNotRegex(" ".join(sentences).lower(), r"better|worse|good|bad|regress|improv")

    def test_shows_changed_rows_with_figures(self):
        with self.page("pair") as page:
            self.assertIn("service %CPU", page.evaluate("names()"))
            cells = page.evaluate("[...row('service %CPU').cells].map(c => c.textContent)")
            before, after, change = cells[2:5]
            self.assertAlmostEqual(float(before.rstrip("%")), 30, delta=1)
            self.assertAlmostEqual(float(after.rstrip("%")), 37, delta=1)
            self.assertAlmostEqual(float(change.lstrip("~+ ").rstrip(" %")), 23.3, delta=3)
            for name in ("newcomer", "leaver"):
                self.assertIn(f"{name} %CPU", page.evaluate("names()"))

    def test_single_window_has_no_comparison_columns(self):
        for case in ("window", "runs"):
            with self.subTest(case), self.page(case) as page:
                self.assertIsNone(page.evaluate("head('candidate')"))
                self.assertIsNone(page.evaluate("head('p')"))
                self.assertIn("service %CPU", page.evaluate("names()"))
                page.evaluate("row('service %CPU').querySelector('button').click()")
                self.assertEqual(page.evaluate("panel().querySelectorAll('.dots path').length"), 5 if case == "runs" else 0)

    def test_shows_inputs_and_command(self):
        with self.page("pair") as page:
            text = page.evaluate("document.body.innerText")
            for part in ("ctprof report before/ --vs after/ -o report.html", "not measured", "Lost data", "2025-12-29"):
                self.assertIn(part, text)

    def test_reports_empty_comparison(self):
        with self.page("quiet") as page:
            self.assertEqual(page.evaluate("document.querySelectorAll('#rows').length"), 0)
            self.assertIn("No figure", page.evaluate("document.body.innerText"))

    # --- interaction

    def test_columns_sort_both_ways(self):
        with self.page("pair") as page:
            all_names = set(page.evaluate("names()"))
            page.evaluate("click('group')")
            groups = page.evaluate("column(0)")
            self.assertEqual(groups, sorted(groups))
            self.assertEqual(page.evaluate("head('group').getAttribute('aria-sort')"), "ascending")
            page.evaluate("click('group')")
            self.assertEqual(page.evaluate("column(0)"), sorted(groups, reverse=True))
            page.evaluate("click('candidate')")
            figures = page.evaluate("visible().map(r => Number(r.dataset.v.split(',')[1]))")
            self.assertEqual(figures, sorted(figures, reverse=True))
            self.assertEqual(page.evaluate("document.querySelectorAll('[aria-sort=ascending], [aria-sort=descending]').length"), 1)
            page.evaluate("click('change')")
            changes = [abs(one) for one in page.evaluate("visible().map(r => Number(r.dataset.v.split(',')[2] || NaN)).filter(n => !isNaN(n))")]
            self.assertEqual(changes, sorted(changes, reverse=True))
            self.assertEqual(set(page.evaluate("names()")), all_names)

    def test_filters_by_text_metric_and_group(self):
        with self.page("pair") as page:
            all_names = page.evaluate("names()")
            page.press("/")
            page.type("NEIGH")
            self.assertEqual(set(page.evaluate("names()")), {name for name in all_names if name.startswith("neighbour")})
            self.assertIn(f"of {len(all_names)} rows", page.evaluate("status()"))
            page.press("Escape")
            self.assertEqual(page.evaluate("names()"), all_names)
            page.evaluate("set('Metric', '%CPU')")
            self.assertEqual(set(page.evaluate("column(1)")), {"%CPU"})
            page.evaluate("set('Group', field('Group').options[1].value)")
            self.assertEqual(len(page.evaluate("names()")), 1)
            page.evaluate("set('Metric', ''); set('Group', '')")
            self.assertEqual(page.evaluate("names()"), all_names)

    def test_insignificant_rows_are_marked_and_come_last(self):
        with self.page("pair") as page:
            significant = page.evaluate("visible().map(r => !r.classList.contains('not'))")
            self.assertEqual(significant, sorted(significant, reverse=True))
            self.assertTrue(all(is_significant != change.startswith("~") for is_significant, change in zip(significant, page.evaluate("column(4)"))))
            ps = page.evaluate("visible().map(r => Number(r.dataset.v.split(',')[5]))")
            self.assertTrue(all((p <= 0.05) == is_significant for p, is_significant in zip(ps, significant)), ps)
            self.assertIn(f"{sum(significant)} differ significantly", page.evaluate("document.querySelector('.verdict').textContent"))
            self.assertTrue(page.evaluate("!row('service %CPU').classList.contains('not') && row('neighbour %CPU').classList.contains('not')"))
            page.evaluate("set('p at most', '0.05')")
            self.assertEqual(len(page.evaluate("names()")), sum(significant))
            page.evaluate("set('p at most', '')")
            page.evaluate("click('p')")
            self.assertEqual(page.evaluate("visible().map(r => Number(r.dataset.v.split(',')[5]))"), sorted(ps))

    def test_insignificant_rows_are_behind_a_switch(self):
        with self.page("pair", switched=True) as page:
            self.assertEqual(page.evaluate("visible().filter(r => r.classList.contains('not')).length"), 0)
            significant = len(page.evaluate("names()"))
            self.assertGreater(significant, 0)
            page.evaluate("showInsignificant(true)")
            self.assertGreater(len(page.evaluate("names()")), significant)
        with self.page("few", switched=True) as page:
            self.assertGreater(len(page.evaluate("names()")), 0)  # nothing is significant, so all rows are shown

    def test_each_group_has_a_card_with_pictures(self):
        for case, picture in (("pair", "path"), ("single", "rect"), ("window", "rect")):
            with self.subTest(case), self.page(case) as page:
                cards = page.evaluate("[...document.querySelectorAll('.card h3')].map(h => h.textContent)")
                self.assertEqual(len(cards), len(set(cards)))
                self.assertEqual(set(cards), set(page.evaluate("column(0)")))
                self.assertGreater(page.evaluate(f"document.querySelectorAll('.card svg {picture}').length"), 0)
                colours = page.evaluate("[...new Set([...document.querySelectorAll('#rows .change')].map(c => getComputedStyle(c).color))]")
                self.assertLessEqual(len(colours), 2, "a change and its direction have the colours of text only")

    def test_too_few_runs_show_no_significance(self):
        with self.page("single") as page:
            self.assertIsNone(page.evaluate("head('p')"))
            self.assertIn("One run per side", page.evaluate("document.querySelector('.verdict').textContent"))
            self.assertEqual(page.evaluate("document.querySelectorAll('.not').length"), 0)
        with self.page("few") as page:
            self.assertRegex(page.evaluate("document.querySelector('.verdict').textContent"), "(?s)None of .* too few for a significant difference at 0.05; 4 on each side")

    def test_keys_move_between_rows_and_open_them(self):
        with self.page("pair") as page:
            focused = "document.activeElement.closest('tr')?.sectionRowIndex"
            page.evaluate("visible()[0].querySelector('button').focus()")
            page.press("ArrowDown")
            self.assertEqual(page.evaluate(focused), 1)
            page.press("End")
            self.assertEqual(page.evaluate(focused), page.evaluate("visible().length - 1"))
            page.press("Home")
            page.press("Enter")
            self.assertEqual(page.evaluate("document.activeElement.getAttribute('aria-expanded')"), "true")
            self.assertTrue(page.evaluate("!!panel()"))
            page.press("Escape")
            self.assertFalse(page.evaluate("!!panel()"))
            self.assertEqual(page.evaluate(focused), 0)

    def test_open_row_shows_runs_other_rows_and_stacks(self):
        with self.page("pair") as page:
            page.evaluate("row('service %CPU').querySelector('button').click()")
            self.assertEqual(page.evaluate("panel().querySelectorAll('.dots path.a').length"), 8)
            self.assertEqual(page.evaluate("panel().querySelectorAll('.dots path.b').length"), 8)
            self.assertEqual(page.evaluate("panel().querySelectorAll('.dots .median').length"), 2)
            self.assertEqual(page.evaluate("panel().querySelectorAll('.dots .interval').length"), 1)
            low, high = page.evaluate("row('service %CPU').dataset.v.split(',').slice(3, 5).map(Number)")
            self.assertLess(0.15, low)
            self.assertLess(high, 0.35)
            self.assertRegex(page.evaluate("panel().querySelector('.dots').getAttribute('aria-label')"), r"8 runs from .* median 29.9.*8 runs .* median 37.1")
            # Dots are in the order of their figures.
            dots = page.evaluate("[...panel().querySelectorAll('.dots path.a')].map(d => parseFloat(d.getAttribute('d').slice(1)))")
            figures = [float(one) for one in page.evaluate("row('service %CPU').dataset.a").split(",")]
            self.assertEqual(sorted(range(8), key=dots.__getitem__), sorted(range(8), key=figures.__getitem__))
            self.assertEqual(page.evaluate("panel().querySelectorAll('figure svg.flame').length"), 1)
            page.evaluate("panel().querySelector('.others button').click()")
            self.assertIn("service", page.evaluate("panel().previousElementSibling.cells[0].textContent"))
            self.assertNotEqual(page.evaluate("panel().previousElementSibling.cells[1].textContent"), "%CPU")

    def test_click_enlarges_frame(self):
        with self.page("pair") as page:
            frame = "[...document.querySelectorAll('article .f')].find(f => f.querySelector('title').textContent.startsWith('parse'))"
            width_share = f"{frame}.getBoundingClientRect().width / document.querySelector('article svg.flame').getBoundingClientRect().width"
            self.assertAlmostEqual(page.evaluate(width_share), 460 / 680, delta=0.02)
            self.assertTrue(page.evaluate(f"{frame}.classList.contains('more')"))
            page.evaluate(f"{frame}.querySelector('rect').dispatchEvent(new MouseEvent('click', {{bubbles: true}}))")
            self.assertAlmostEqual(page.evaluate(width_share), 1, delta=0.01)
            page.evaluate(f"{frame}.querySelector('rect').dispatchEvent(new MouseEvent('click', {{bubbles: true}}))")
            self.assertAlmostEqual(page.evaluate(width_share), 460 / 680, delta=0.02)

    def test_only_significant_changes_have_a_colour(self):
        coloured = "document.querySelectorAll('article .f.more, article .f.less').length"
        for case, is_coloured, is_judged in (("pair", True, True), ("few", False, True), ("single", True, False)):
            with self.subTest(case), self.page(case) as page:
                self.assertEqual(page.evaluate(coloured) > 0, is_coloured)
                self.assertEqual("not significant" in page.evaluate("document.querySelector('.legend').textContent"), is_judged)

    def copy_rows(self, page):
        page.evaluate("window.copiedText = null; navigator.clipboard.writeText = text => { window.copiedText = text; return Promise.resolve(); }")
        page.evaluate("[...document.querySelectorAll('#tools button')].find(b => b.textContent === 'Copy as CSV').click()")
        page.wait_for("window.copiedText !== null")
        return list(csv.DictReader(io.StringIO(page.evaluate("window.copiedText"))))

    def test_copies_visible_rows_as_csv(self):
        with self.page("pair") as page:
            page.evaluate("set('Metric', '%CPU'); click('group')")
            lines = self.copy_rows(page)
            self.assertEqual([line["group"] for line in lines], page.evaluate("column(0)"))
            service = next(line for line in lines if line["group"] == "service")
            self.assertAlmostEqual(float(service["baseline"]), 30, delta=1)
            self.assertEqual(len(service["candidate_runs"].split()), 8)
            self.assertIn("copied", page.evaluate("status()"))

    def test_copies_without_clipboard_api(self):
        with self.page("pair") as page:
            page.evaluate("navigator.clipboard.writeText = () => Promise.reject(new Error('no')); document.execCommand = () => { window.copiedText = document.querySelector('textarea').value; return true; }")
            page.evaluate("[...document.querySelectorAll('#tools button')].find(b => b.textContent === 'Copy as CSV').click()")
            page.wait_for("window.copiedText")
            self.assertIn("service,%CPU", page.evaluate("window.copiedText"))
            self.assertEqual(page.evaluate("document.querySelectorAll('textarea').length"), 0)

    # --- accessibility and printing

    def test_is_readable_without_script(self):
        with self.page("pair", script=False) as page:
            self.assertEqual(page.evaluate("document.querySelectorAll('#rows button, #tools > *').length"), 0)
            self.assertGreater(page.evaluate("[...document.querySelectorAll('#rows tbody tr')].filter(r => !r.hidden).length"), 5)
            self.assertGreater(page.evaluate("document.querySelectorAll('svg.s path').length"), 5)
            self.assertGreater(page.evaluate("document.querySelectorAll('article .f').length"), 4)
            self.assertGreater(page.evaluate("document.querySelectorAll('.functions tbody tr').length"), 1)

    @unittest.skipUnless(AXE.exists(), "no axe-core")
    def test_axe_finds_no_serious_violation(self):
        for case, width, dark in itertools.product(("pair", "window"), (390, 1280), (False, True)):
            with self.subTest(f"{case} {width} {dark}"), self.page(case, width=width, dark=dark) as page:
                page.evaluate("visible()[0].querySelector('button').click()")
                page.evaluate(AXE.read_text(encoding="utf-8") + "; true")
                found = page.evaluate("axe.run(document, {resultTypes: ['violations']}).then(r => JSON.stringify(r.violations.map("
                                 "v => [v.id, v.impact, v.nodes.slice(0, 3).map(n => n.html.slice(0, 200) + n.failureSummary)])))")
                self.assertEqual([one for one in json.loads(found) if one[1] in ("serious", "critical", "moderate")], [])

    def test_fits_window_in_light_and_dark_mode(self):
        directory = os.environ.get("PICTURES")
        for width, dark, case in itertools.product((390, 1280, 2560), (False, True), ("pair", "window") if directory else ("pair",)):
            with self.subTest(f"{width} {dark} {case}"), self.page(case, width=width, height=900, dark=dark) as page:
                self.assertEqual(page.evaluate("document.documentElement.scrollWidth"), width)
                paper = page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
                self.assertEqual(paper, "rgb(20, 24, 29)" if dark else "rgb(255, 255, 255)")
                page.evaluate("visible()[0].querySelector('button').click()")
                self.assertEqual(page.evaluate("document.documentElement.scrollWidth"), width)
                if directory:
                    height = page.evaluate("document.documentElement.scrollHeight")
                    page.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
                    page.save_screenshot(pathlib.Path(directory) / f"{case}-{width}-{'dark' if dark else 'light'}.png")

    def test_print_is_white_without_controls(self):
        with self.page("pair", dark=True) as page:
            page.call("Emulation.setEmulatedMedia", media="print", features=[{"name": "prefers-color-scheme", "value": "dark"}])
            self.assertEqual(page.evaluate("getComputedStyle(document.documentElement).backgroundColor"), "rgb(255, 255, 255)")
            self.assertEqual(page.evaluate("getComputedStyle(document.getElementById('tools')).display"), "none")
            self.assertTrue(page.call("Page.printToPDF")["data"].startswith("JVBER"))

    # --- hostile and large

    def test_names_are_text(self):
        with self.page("hostile") as page:
            self.assertEqual(page.evaluate("document.querySelectorAll('script').length"), 1)
            self.assertEqual(page.evaluate("document.querySelectorAll('style').length"), 1)
            self.assertEqual(page.evaluate("document.querySelectorAll('img, main b:not(figcaption b), [onload], [onerror]').length"), 0)
            groups = set(page.evaluate("column(0)"))
            for name in ("<script>alert(1)</script>", '"><img src=x onerror=alert(4)>', "a\\u202egnp.exe\\u2066 \\xff\\xfe", "&lt;b&gt;'</script>"):
                self.assertIn(name, groups)
            self.assertLess(max(map(len, groups)), 260)
            self.assertTrue(any(name.startswith("yyyy") for name in groups))
            self.assertEqual(page.evaluate("document.title"), "<b>before</b> → after/")
            for at in range(page.evaluate("visible().length")):
                page.evaluate(f"visible()[{at}].querySelector('button').click()")
            self.assertEqual(page.evaluate("document.querySelectorAll('img, [onload], [onerror]').length"), 0)
            self.assertIn("'=HYPERLINK(\"http://x\")", [line["group"] for line in self.copy_rows(page)])

    def test_page_of_large_host_stays_small(self):
        self.assertLess(len(make("large")), MAX_BYTES)
        with self.page("large") as page:
            self.assertGreater(page.evaluate("document.querySelectorAll('#rows tbody tr').length"), 1000)
            self.assertLessEqual(page.evaluate("visible().length"), 60)
            page.evaluate("document.querySelector('button.more').click()")
            self.assertGreater(page.evaluate("visible().length"), 1000)
            page.evaluate("click('group')")
            groups = page.evaluate("column(0)")
            self.assertEqual(groups, sorted(groups))


if __name__ == "__main__":
    if not browser.PROGRAM:
        print("skipped: needs chromium")
        sys.exit(SKIP)
    unittest.main()
