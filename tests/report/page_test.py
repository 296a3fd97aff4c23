#!/usr/bin/python3
"""A report's page in a real browser: sorting, filters, keys, a row opened, copying; accessibility; names that would do harm; size.

PICTURES=DIRECTORY keeps pictures of all of them, to be looked at.
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
MOST_BYTES = 3_000_000

HELPERS = """
const seen = () => [...document.querySelectorAll('#rows tbody tr.row:not([hidden])')];
const names = () => seen().map(row => row.cells[0].textContent + ' ' + row.cells[1].textContent);
const column = at => seen().map(row => row.cells[at].textContent);
const field = label => [...document.querySelectorAll('#tools label')].find(l => l.firstChild.textContent.startsWith(label)).children[0];
const set = (label, value) => { const f = field(label); f.value = value; f.dispatchEvent(new Event('input', {bubbles: true})); };
const head = text => [...document.querySelectorAll('#rows thead th')].find(th => th.textContent === text);
const click = text => head(text).querySelector('button').click();
const row = name => seen().find(one => one.cells[0].textContent + ' ' + one.cells[1].textContent === name);
const panel = () => document.querySelector('#rows tr.panel');
const status = () => document.querySelector('[role=status]').textContent;
"""


def make(what):
    return subprocess.run([MAKE, what], stdout=subprocess.PIPE, check=True).stdout


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
    def page(self, what, **how):
        """An opened page that in the end has complained of nothing and asked for nothing."""
        path = pathlib.Path(self.files.name) / f"{what}.html"
        if not path.exists():
            path.write_bytes(make(what))
        page = browser.Page(self.browser, path, **how)
        if not how.get("script", True):
            page.call("Emulation.setScriptExecutionDisabled", value=False)
        else:
            page.ask(HELPERS)
        yield page
        self.assertEqual(page.complaints(), [])
        self.assertEqual(page.requests(), [])

    # --- what it says

    def test_the_verdict_is_first_and_in_few_sentences_of_figures(self):
        in_order = "All runs of the baseline and of the candidate were taken one side after the other"
        for what in ("pair", "single", "window", "runs"):
            with self.subTest(what), self.page(what) as page:
                said = page.ask("[...document.querySelectorAll('.verdict p')].map(p => p.textContent)")
                if said[0].startswith(in_order):
                    said = said[1:]
                self.assertEqual(len(said), 3)
                self.assertTrue(all(any(c.isdigit() for c in sentence) or "One run" in sentence for sentence in said), said)
                self.assertLess(page.ask("document.querySelector('.verdict').getBoundingClientRect().bottom"), 400)
                self.assertNotRegex(" ".join(said).lower(), r"better|worse|good|bad|regress|improv")

    def test_what_changed_is_there_with_its_figures(self):
        with self.page("pair") as page:
            self.assertIn("service %CPU", page.ask("names()"))
            cells = page.ask("[...row('service %CPU').cells].map(c => c.textContent)")
            before, after, change = cells[2:5]
            self.assertAlmostEqual(float(before.rstrip("%")), 30, delta=1)
            self.assertAlmostEqual(float(after.rstrip("%")), 37, delta=1)
            self.assertAlmostEqual(float(change.lstrip("~+ ").rstrip(" %")), 23.3, delta=3)
            for name in ("newcomer", "leaver"):
                self.assertIn(f"{name} %CPU", page.ask("names()"))

    def test_one_window_has_the_same_form_without_the_comparison(self):
        for what in ("window", "runs"):
            with self.subTest(what), self.page(what) as page:
                self.assertIsNone(page.ask("head('candidate')"))
                self.assertIsNone(page.ask("head('p')"))
                self.assertIn("service %CPU", page.ask("names()"))
                page.ask("row('service %CPU').querySelector('button').click()")
                self.assertEqual(page.ask("panel().querySelectorAll('.dots path').length"), 5 if what == "runs" else 0)

    def test_it_says_what_was_read_and_what_made_it(self):
        with self.page("pair") as page:
            text = page.ask("document.body.innerText")
            for part in ("ctprof report before/ --vs after/ -o report.html", "not measured", "lost", "2025-12-29"):
                self.assertIn(part, text)

    def test_nothing_to_tell_is_told(self):
        with self.page("quiet") as page:
            self.assertEqual(page.ask("document.querySelectorAll('#rows').length"), 0)
            self.assertIn("No figure", page.ask("document.body.innerText"))

    # --- what it does

    def test_columns_sort_both_ways(self):
        with self.page("pair") as page:
            all_of_it = set(page.ask("names()"))
            page.ask("click('group')")
            groups = page.ask("column(0)")
            self.assertEqual(groups, sorted(groups))
            self.assertEqual(page.ask("head('group').getAttribute('aria-sort')"), "ascending")
            page.ask("click('group')")
            self.assertEqual(page.ask("column(0)"), sorted(groups, reverse=True))
            page.ask("click('candidate')")
            figures = page.ask("seen().map(r => Number(r.dataset.v.split(',')[1]))")
            self.assertEqual(figures, sorted(figures, reverse=True))
            self.assertEqual(page.ask("document.querySelectorAll('[aria-sort=ascending], [aria-sort=descending]').length"), 1)
            page.ask("click('change')")
            changes = [abs(one) for one in page.ask("seen().map(r => Number(r.dataset.v.split(',')[2] || NaN)).filter(n => !isNaN(n))")]
            self.assertEqual(changes, sorted(changes, reverse=True))
            self.assertEqual(set(page.ask("names()")), all_of_it)

    def test_filters_by_text_metric_and_group(self):
        with self.page("pair") as page:
            every = page.ask("names()")
            page.press("/")
            page.type("NEIGH")
            self.assertEqual(set(page.ask("names()")), {name for name in every if name.startswith("neighbour")})
            self.assertIn(f"of {len(every)} rows", page.ask("status()"))
            page.press("Escape")
            self.assertEqual(page.ask("names()"), every)
            page.ask("set('Metric', '%CPU')")
            self.assertEqual(set(page.ask("column(1)")), {"%CPU"})
            page.ask("set('Group', field('Group').options[1].value)")
            self.assertEqual(len(page.ask("names()")), 1)
            page.ask("set('Metric', ''); set('Group', '')")
            self.assertEqual(page.ask("names()"), every)

    def test_what_is_not_proven_is_marked_and_comes_behind(self):
        with self.page("pair") as page:
            proven = page.ask("seen().map(r => !r.classList.contains('not'))")
            self.assertEqual(proven, sorted(proven, reverse=True))
            self.assertTrue(all(is_proven != change.startswith("~") for is_proven, change in zip(proven, page.ask("column(4)"))))
            ps = page.ask("seen().map(r => Number(r.dataset.v.split(',')[5]))")
            self.assertTrue(all((p <= 0.05) == is_proven for p, is_proven in zip(ps, proven)), ps)
            self.assertIn(f"{sum(proven)} are proven", page.ask("document.querySelector('.verdict').textContent"))
            self.assertTrue(page.ask("!row('service %CPU').classList.contains('not') && row('neighbour %CPU').classList.contains('not')"))
            page.ask("set('p at most', '0.05')")
            self.assertEqual(len(page.ask("names()")), sum(proven))
            page.ask("set('p at most', '')")
            page.ask("click('p')")
            self.assertEqual(page.ask("seen().map(r => Number(r.dataset.v.split(',')[5]))"), sorted(ps))

    def test_without_enough_runs_nothing_is_claimed(self):
        with self.page("single") as page:
            self.assertIsNone(page.ask("head('p')"))
            self.assertIn("One run per side", page.ask("document.querySelector('.verdict').textContent"))
            self.assertEqual(page.ask("document.querySelectorAll('.not').length"), 0)
        with self.page("few") as page:
            self.assertRegex(page.ask("document.querySelector('.verdict').textContent"), "(?s)None of .* too few to prove anything at 0.05; 4 on each side")

    def test_keys_walk_rows_and_open_them(self):
        with self.page("pair") as page:
            focused = "document.activeElement.closest('tr')?.sectionRowIndex"
            page.ask("seen()[0].querySelector('button').focus()")
            page.press("ArrowDown")
            self.assertEqual(page.ask(focused), 1)
            page.press("End")
            self.assertEqual(page.ask(focused), page.ask("seen().length - 1"))
            page.press("Home")
            page.press("Enter")
            self.assertEqual(page.ask("document.activeElement.getAttribute('aria-expanded')"), "true")
            self.assertTrue(page.ask("!!panel()"))
            page.press("Escape")
            self.assertFalse(page.ask("!!panel()"))
            self.assertEqual(page.ask(focused), 0)

    def test_an_opened_row_shows_its_runs_its_neighbours_and_its_stacks(self):
        with self.page("pair") as page:
            page.ask("row('service %CPU').querySelector('button').click()")
            self.assertEqual(page.ask("panel().querySelectorAll('.dots path.a').length"), 8)
            self.assertEqual(page.ask("panel().querySelectorAll('.dots path.b').length"), 8)
            self.assertEqual(page.ask("panel().querySelectorAll('.dots .median').length"), 2)
            self.assertEqual(page.ask("panel().querySelectorAll('.dots .interval').length"), 1)
            low, high = page.ask("row('service %CPU').dataset.v.split(',').slice(3, 5).map(Number)")
            self.assertLess(0.15, low)
            self.assertLess(high, 0.35)
            self.assertRegex(page.ask("panel().querySelector('.dots').getAttribute('aria-label')"), r"8 runs from .* median 29.9.*8 runs .* median 37.1")
            # Dots stand in the order of their figures.
            dots = page.ask("[...panel().querySelectorAll('.dots path.a')].map(d => parseFloat(d.getAttribute('d').slice(1)))")
            figures = [float(one) for one in page.ask("row('service %CPU').dataset.a").split(",")]
            self.assertEqual(sorted(range(8), key=dots.__getitem__), sorted(range(8), key=figures.__getitem__))
            self.assertEqual(page.ask("panel().querySelectorAll('figure svg.flame').length"), 1)
            page.ask("panel().querySelector('.others button').click()")
            self.assertIn("service", page.ask("panel().previousElementSibling.cells[0].textContent"))
            self.assertNotEqual(page.ask("panel().previousElementSibling.cells[1].textContent"), "%CPU")

    def test_a_frame_is_enlarged_by_a_click(self):
        with self.page("pair") as page:
            frame = "[...document.querySelectorAll('article .f')].find(f => f.querySelector('title').textContent.startsWith('parse'))"
            wide = f"{frame}.getBoundingClientRect().width / document.querySelector('article svg.flame').getBoundingClientRect().width"
            self.assertAlmostEqual(page.ask(wide), 460 / 680, delta=0.02)
            self.assertTrue(page.ask(f"{frame}.classList.contains('more')"))
            page.ask(f"{frame}.querySelector('rect').dispatchEvent(new MouseEvent('click', {{bubbles: true}}))")
            self.assertAlmostEqual(page.ask(wide), 1, delta=0.01)
            page.ask(f"{frame}.querySelector('rect').dispatchEvent(new MouseEvent('click', {{bubbles: true}}))")
            self.assertAlmostEqual(page.ask(wide), 460 / 680, delta=0.02)

    def test_only_what_is_proven_has_a_colour(self):
        coloured = "document.querySelectorAll('article .f.more, article .f.less').length"
        for what, is_coloured, is_judged in (("pair", True, True), ("few", False, True), ("single", True, False)):
            with self.subTest(what), self.page(what) as page:
                self.assertEqual(page.ask(coloured) > 0, is_coloured)
                self.assertEqual("not proven" in page.ask("document.querySelector('.legend').textContent"), is_judged)

    def copied(self, page):
        page.ask("window.taken = null; navigator.clipboard.writeText = text => { window.taken = text; return Promise.resolve(); }")
        page.ask("[...document.querySelectorAll('#tools button')].find(b => b.textContent === 'Copy as CSV').click()")
        page.wait_for("window.taken !== null")
        return list(csv.DictReader(io.StringIO(page.ask("window.taken"))))

    def test_rows_are_copied_as_they_are_shown(self):
        with self.page("pair") as page:
            page.ask("set('Metric', '%CPU'); click('group')")
            lines = self.copied(page)
            self.assertEqual([line["group"] for line in lines], page.ask("column(0)"))
            service = next(line for line in lines if line["group"] == "service")
            self.assertAlmostEqual(float(service["baseline"]), 30, delta=1)
            self.assertEqual(len(service["candidate_runs"].split()), 8)
            self.assertIn("copied", page.ask("status()"))

    def test_it_copies_where_no_clipboard_is_to_be_had(self):
        with self.page("pair") as page:
            page.ask("navigator.clipboard.writeText = () => Promise.reject(new Error('no')); document.execCommand = () => { window.taken = document.querySelector('textarea').value; return true; }")
            page.ask("[...document.querySelectorAll('#tools button')].find(b => b.textContent === 'Copy as CSV').click()")
            page.wait_for("window.taken")
            self.assertIn("service,%CPU", page.ask("window.taken"))
            self.assertEqual(page.ask("document.querySelectorAll('textarea').length"), 0)

    # --- for everybody

    def test_without_a_script_it_is_a_document(self):
        with self.page("pair", script=False) as page:
            self.assertEqual(page.ask("document.querySelectorAll('#rows button, #tools > *').length"), 0)
            self.assertGreater(page.ask("[...document.querySelectorAll('#rows tbody tr')].filter(r => !r.hidden).length"), 5)
            self.assertGreater(page.ask("document.querySelectorAll('svg.s path').length"), 5)
            self.assertGreater(page.ask("document.querySelectorAll('article .f').length"), 4)
            self.assertGreater(page.ask("document.querySelectorAll('.functions tbody tr').length"), 1)

    @unittest.skipUnless(AXE.exists(), "no axe-core")
    def test_axe_finds_nothing_serious(self):
        for what, width, dark in itertools.product(("pair", "window"), (390, 1280), (False, True)):
            with self.subTest(f"{what} {width} {dark}"), self.page(what, width=width, dark=dark) as page:
                page.ask("seen()[0].querySelector('button').click()")
                page.ask(AXE.read_text(encoding="utf-8") + "; true")
                found = page.ask("axe.run(document, {resultTypes: ['violations']}).then(r => JSON.stringify(r.violations.map("
                                 "v => [v.id, v.impact, v.nodes.slice(0, 3).map(n => n.html.slice(0, 200) + n.failureSummary)])))")
                self.assertEqual([one for one in json.loads(found) if one[1] in ("serious", "critical", "moderate")], [])

    def test_it_fits_windows_light_and_dark(self):
        keep = os.environ.get("PICTURES")
        for width, dark, what in itertools.product((390, 1280, 2560), (False, True), ("pair", "window") if keep else ("pair",)):
            with self.subTest(f"{width} {dark} {what}"), self.page(what, width=width, height=900, dark=dark) as page:
                self.assertEqual(page.ask("document.documentElement.scrollWidth"), width)
                paper = page.ask("getComputedStyle(document.documentElement).backgroundColor")
                self.assertEqual(paper, "rgb(20, 24, 29)" if dark else "rgb(255, 255, 255)")
                page.ask("seen()[0].querySelector('button').click()")
                self.assertEqual(page.ask("document.documentElement.scrollWidth"), width)
                if keep:
                    height = page.ask("document.documentElement.scrollHeight")
                    page.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
                    page.picture(pathlib.Path(keep) / f"{what}-{width}-{'dark' if dark else 'light'}.png")

    def test_paper_is_white_and_has_no_buttons(self):
        with self.page("pair", dark=True) as page:
            page.call("Emulation.setEmulatedMedia", media="print", features=[{"name": "prefers-color-scheme", "value": "dark"}])
            self.assertEqual(page.ask("getComputedStyle(document.documentElement).backgroundColor"), "rgb(255, 255, 255)")
            self.assertEqual(page.ask("getComputedStyle(document.getElementById('tools')).display"), "none")
            self.assertTrue(page.call("Page.printToPDF")["data"].startswith("JVBER"))

    # --- hostile and large

    def test_names_are_text(self):
        with self.page("hostile") as page:
            self.assertEqual(page.ask("document.querySelectorAll('script').length"), 1)
            self.assertEqual(page.ask("document.querySelectorAll('style').length"), 1)
            self.assertEqual(page.ask("document.querySelectorAll('img, main b:not(figcaption b), [onload], [onerror]').length"), 0)
            groups = set(page.ask("column(0)"))
            for name in ("<script>alert(1)</script>", '"><img src=x onerror=alert(4)>', "a\\u202egnp.exe\\u2066 \\xff\\xfe", "&lt;b&gt;'</script>"):
                self.assertIn(name, groups)
            self.assertLess(max(map(len, groups)), 260)
            self.assertTrue(any(name.startswith("yyyy") for name in groups))
            self.assertEqual(page.ask("document.title"), "<b>before</b> → after/")
            for at in range(page.ask("seen().length")):
                page.ask(f"seen()[{at}].querySelector('button').click()")
            self.assertEqual(page.ask("document.querySelectorAll('img, [onload], [onerror]').length"), 0)
            self.assertIn("'=HYPERLINK(\"http://x\")", [line["group"] for line in self.copied(page)])

    def test_of_a_large_host_it_stays_small(self):
        self.assertLess(len(make("large")), MOST_BYTES)
        with self.page("large") as page:
            self.assertGreater(page.ask("document.querySelectorAll('#rows tbody tr').length"), 1000)
            self.assertLessEqual(page.ask("seen().length"), 60)
            page.ask("document.querySelector('button.more').click()")
            self.assertGreater(page.ask("seen().length"), 1000)
            page.ask("click('group')")
            groups = page.ask("column(0)")
            self.assertEqual(groups, sorted(groups))


if __name__ == "__main__":
    if not browser.PROGRAM:
        print("no chromium: pages are not looked at")
        sys.exit(SKIP)
    unittest.main()
