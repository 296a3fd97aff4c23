#!/usr/bin/python3
"""Tests flame graphs in a browser: drawing, zoom, search, keyboard, hostile names, figures of many stacks.

PICTURES=DIRECTORY keeps screenshots for inspection.
"""

import contextlib
import itertools
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import xml.dom.minidom

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import browser  # noqa: E402

MAKE = os.environ["MAKE_FLAME"]
SKIP = 77
MAX_BYTES, MAX_MS = 5_000_000, 2_000
# The time limit is multiplied by this factor, because sanitizers and similar tools slow the program down.
TIME_FACTOR = float(os.environ.get("SLOWER", "1"))

NAMED = """(name => [...document.querySelectorAll('.f')].find(
    f => f.querySelector('title').textContent.split('\\n')[0] === name && !f.classList.contains('out')))"""
HELPERS = f"""
const named = {NAMED};
const box = name => {{ const b = named(name).querySelector('rect').getBoundingClientRect(); return [b.left, b.top, b.width, b.height]; }};
const shown = () => [...document.querySelectorAll('.f:not(.out)')].length;
const details = () => [...document.querySelectorAll('.details')].map(line => line.textContent);
const focused = () => document.activeElement.querySelector('title')?.textContent.split('\\n')[0];
"""


def make(stacks, form):
    finished = subprocess.run([MAKE, stacks, form], capture_output=True, check=True)
    return finished.stdout, int(finished.stderr)


class FlameGraphs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.browser = browser.Browser()
        cls.files = tempfile.TemporaryDirectory()

    @classmethod
    def tearDownClass(cls):
        cls.browser.close()
        cls.files.cleanup()

    @contextlib.contextmanager
    def page(self, stacks, form, **options):
        """Opens a page and checks at the end that it reported no problem and requested nothing."""
        text, _ = make(stacks, form)
        path = pathlib.Path(self.files.name) / f"{stacks}-{form}.{'html' if text.startswith(b'<!') else 'svg'}"
        path.write_bytes(text)
        page = browser.Page(self.browser, path, **options)
        if options.get("script", True):
            page.evaluate(HELPERS)
        yield page
        self.assertEqual(page.get_problems(), [])
        self.assertEqual(page.get_requests(), [])

    def click(self, page, name):
        page.evaluate(f"named('{name}').scrollIntoView({{block: 'center'}})")
        left, top, width, height = page.evaluate(f"box('{name}')")
        page.click(left + width / 2, top + height / 2)

    def test_draws_callees_above_callers(self):
        for form in ("svg", "html"):
            with self.subTest(form), self.page("few", form) as page:
                whole, main, parse = (page.evaluate(f"box('{name}')") for name in ("all", "main", "parse(char*)"))
                self.assertEqual(whole[2], 1280)
                self.assertAlmostEqual(main[2], 1280 * 0.8, delta=2)
                self.assertLess(main[1], whole[1])
                self.assertLess(parse[1], main[1])
                self.assertGreaterEqual(parse[0], main[0] - 1)

    def test_icicle_has_root_on_top_and_can_be_flipped(self):
        with self.page("few", "icicle") as page:
            self.assertGreater(page.evaluate("box('main')[1]"), page.evaluate("box('all')[1]"))
            page.evaluate("[...document.querySelectorAll('button')].find(b => b.textContent === 'Flame').click()")
            self.assertLess(page.evaluate("box('main')[1]"), page.evaluate("box('all')[1]"))

    def test_scrolls_to_root_of_tall_graph(self):
        for form in ("svg", "html", "icicle"):
            with self.subTest(form), self.page("deep", form) as page:
                self.assertGreater(page.evaluate("document.documentElement.scrollHeight"), page.evaluate("2 * innerHeight"))
                for _ in range(2):
                    top, height = page.evaluate("box('all')")[1::2]
                    self.assertGreater(top, page.evaluate("document.querySelector('.head').getBoundingClientRect().bottom") - 1)
                    self.assertLess(top + height, page.evaluate("innerHeight"))
                    page.evaluate("[...document.querySelectorAll('button')][0].click()")

    def test_click_zooms_and_escape_resets(self):
        with self.page("few", "svg") as page:
            before = page.evaluate("shown()")
            self.click(page, "read")
            self.assertEqual(page.evaluate("box('read')[2]"), 1280)
            self.assertEqual(page.evaluate("box('main')[2]"), 1280)  # below it, with the same width
            self.assertIsNone(page.evaluate("named('poll')?.id"))
            self.assertLess(page.evaluate("shown()"), before)
            page.press("Escape")
            self.assertEqual(page.evaluate("shown()"), before)

    def test_search_shows_share_of_matches(self):
        with self.page("few", "html") as page:
            page.press("/")
            page.type("^parse|memcpy")
            self.assertEqual(page.evaluate("document.querySelector('output').textContent"), "45.00 %")
            self.assertEqual(page.evaluate("document.querySelectorAll('.hit').length"), 3)
            page.press("Enter")
            self.assertEqual(page.evaluate("focused()"), "parse(char*)")
            page.press("/")
            page.type("(")
            self.assertEqual(page.evaluate("document.querySelector('output').textContent"), "no regular expression")
            page.press("Escape")
            self.assertEqual(page.evaluate("document.querySelectorAll('.hit').length"), 0)

    def test_arrow_keys_move_between_frames(self):
        with self.page("few", "svg") as page:
            page.evaluate("named('main').focus()")
            page.press("ArrowUp")
            self.assertEqual(page.evaluate("focused()"), "parse(char*)")
            self.assertEqual(page.evaluate("details()[0]"), "parse(char*)")
            self.assertIn("450.000ms, 45.00 %; self 300.000ms", page.evaluate("details()[1]"))
            page.press("ArrowRight")
            self.assertEqual(page.evaluate("focused()"), "read")
            page.press("Enter")
            self.assertEqual(page.evaluate("box('read')[2]"), 1280)
            page.press("ArrowDown")
            self.assertEqual(page.evaluate("focused()"), "main")
            page.press("ArrowUp")
            self.assertEqual(page.evaluate("focused()"), "read")

    def test_shows_details_of_frame_under_pointer(self):
        with self.page("few", "html") as page:
            left, top, _, _ = page.evaluate("box('vfs_read')")
            page.move(left + 5, top + 5)
            self.assertEqual(page.evaluate("details()[0]"), "vfs_read")
            self.assertIn("[kernel]   250.000ms, 25.00 %", page.evaluate("details()[1]"))

    def test_is_readable_without_script(self):
        with self.page("few", "svg", script=False) as page:
            page.call("Emulation.setScriptExecutionDisabled", value=False)
            page.evaluate(HELPERS)
            self.assertEqual(page.evaluate("named('main').querySelector('text').textContent"), "main")
            self.assertAlmostEqual(page.evaluate("box('main')[2]"), 1280 * 0.8, delta=2)
            self.assertEqual(page.evaluate("document.querySelectorAll('.bar').length"), 0)

    def test_slowest_function_has_strongest_red(self):
        with self.page("slower", "against-few") as page:
            self.assertEqual(page.evaluate("[...document.querySelectorAll('.d8')].map(f => f.querySelector('text').textContent)"), ["parse(char*)"])
            self.assertTrue(page.evaluate("named('parse(char*)').classList.contains('more')"))
            self.assertTrue(page.evaluate("named('memcpy').classList.contains('less')"))
            gone = page.evaluate("[...document.querySelectorAll('.gone')].map(line => line.textContent)")
            self.assertEqual(gone[0], "250.000ms  worker > io 1 > _start > main > read")
            self.assertEqual(len(gone), 5)

    def test_only_significant_changes_have_a_colour(self):
        with self.page("slower", "judged") as page:
            self.assertTrue(page.evaluate("named('parse(char*)').classList.contains('d8')"))
            self.assertIn("not significant", page.evaluate("document.querySelector('.legend').textContent"))
            self.assertNotIn("unchanged", page.evaluate("document.querySelector('.legend').textContent"))
        with self.page("slower", "judged-by-few-runs") as page:
            self.assertEqual(page.evaluate("document.querySelectorAll('.frames .more, .frames .less').length"), 0)
            self.assertIn("self 600.000ms (+55.6%); not significant", page.evaluate("named('parse(char*)').querySelector('title').textContent"))
            self.assertNotIn("not significant", page.evaluate("named('main').querySelector('title').textContent"))  # its self weight is zero

    def test_scales_baseline_to_length_of_candidate(self):
        with self.page("slower", "against-few-longer") as page:  # 865 ms in 10 s against 1 s in 20 s
            self.assertIn("865.000ms, baseline 500.000ms (+73.0%) scaled to the same time", page.evaluate("document.querySelector('.quiet').textContent"))

    def test_profile_equals_itself(self):
        with self.page("few", "against-few") as page:
            self.assertEqual(page.evaluate("document.querySelectorAll('.frames .more, .frames .less, .gone').length"), 0)
            self.assertGreater(page.evaluate("document.querySelectorAll('.frames .e').length"), 10)

    def test_merged_small_frames_have_no_change_colour(self):
        with self.page("many", "against-few") as page:
            small = "[...document.querySelectorAll('.f')].filter(f => f.querySelector('title').textContent.includes(' small frames]'))"
            self.assertGreater(page.evaluate(small + ".length"), 10)
            self.assertEqual(page.evaluate(small + ".filter(f => f.matches('.more, .less')).length"), 0)
            self.assertGreater(page.evaluate("document.querySelectorAll('.more').length"), 10)

    def test_names_are_text(self):
        for form in ("svg", "html"):
            with self.subTest(form), self.page("hostile", form) as page:
                self.assertEqual(page.evaluate("document.querySelectorAll('script').length"), 1)
                self.assertEqual(page.evaluate("document.querySelectorAll('img, b, [onload], [onerror]').length"), 0)
                names = page.evaluate("[...document.querySelectorAll('.f title')].map(title => title.textContent.split('\\n')[0])")
                for name in ("<script>alert(1)</script>", "&lt;b&gt;&#60;i&#62;", "a\\u202egnp.exe\\u2066", "\\xff\\xfe broken \\xc3", "\\uffff\\ufffe"):
                    self.assertIn(name, names)
                self.assertLessEqual(max(map(len, names)), 300)
                page.press("/")
                page.type("<script>")
                self.assertGreater(page.evaluate("document.querySelectorAll('.hit').length"), 2)

    def test_svg_is_xml(self):
        for stacks in ("few", "hostile", "none", "deep"):
            with self.subTest(stacks):
                self.assertEqual(xml.dom.minidom.parseString(make(stacks, "svg")[0]).documentElement.tagName, "svg")

    def test_draws_empty_and_deep_stacks(self):
        for stacks in ("none", "deep"):
            with self.subTest(stacks), self.page(stacks, "svg") as page:
                self.assertEqual(page.evaluate("box('all')[2]"), 1280)

    def test_many_stacks(self):
        text, milliseconds = make("many", "svg")
        self.assertLess(len(text), MAX_BYTES)
        self.assertLess(milliseconds, MAX_MS * TIME_FACTOR)
        with self.page("many", "svg") as page:
            self.assertGreater(page.evaluate("shown()"), 1000)
            self.assertRegex(page.evaluate("document.querySelectorAll('.quiet')[0].textContent"), r", \d{7} frames too small to draw$")
            self.click(page, "process3")
            self.assertEqual(page.evaluate("box('process3')[2]"), 1280)

    def test_fits_window_in_light_and_dark_mode(self):
        directory = os.environ.get("PICTURES")
        cases = [("few", "svg"), ("slower", "against-few")] + ([("few", "waiting"), ("many", "html")] if directory else [])
        for width, dark, (stacks, form) in itertools.product((390, 1280, 2560), (False, True), cases):
            with self.subTest(f"{width} {dark} {stacks} {form}"), self.page(stacks, form, width=width, height=700, dark=dark) as page:
                self.assertEqual(page.evaluate("document.documentElement.scrollWidth"), width)
                paper = page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
                self.assertEqual(paper, "rgb(20, 24, 29)" if dark else "rgb(255, 255, 255)")
                if directory:
                    page.save_screenshot(pathlib.Path(directory) / f"{stacks}-{form}-{width}-{'dark' if dark else 'light'}.png")


if __name__ == "__main__":
    if not browser.PROGRAM:
        print("skipped: needs chromium")
        sys.exit(SKIP)
    unittest.main()
