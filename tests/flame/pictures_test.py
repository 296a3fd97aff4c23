#!/usr/bin/python3
"""Flame graphs in a real browser: what is drawn, zoom, search, keyboard, names that would do harm, figures of many stacks.

PICTURES=DIRECTORY keeps pictures of all of them, to be looked at.
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
MOST_BYTES, MOST_MS = 5_000_000, 2_000
# Slower by what watches it: as many times the time is allowed.
SLOWER = float(os.environ.get("SLOWER", "1"))

NAMED = """(name => [...document.querySelectorAll('.f')].find(
    f => f.querySelector('title').textContent.split('\\n')[0] === name && !f.classList.contains('out')))"""
HELPERS = f"""
const named = {NAMED};
const box = name => {{ const b = named(name).querySelector('rect').getBoundingClientRect(); return [b.left, b.top, b.width, b.height]; }};
const shown = () => [...document.querySelectorAll('.f:not(.out)')].length;
const told = () => [...document.querySelectorAll('.told')].map(line => line.textContent);
const focused = () => document.activeElement.querySelector('title')?.textContent.split('\\n')[0];
"""


def make(stacks, form):
    done = subprocess.run([MAKE, stacks, form], capture_output=True, check=True)
    return done.stdout, int(done.stderr)


class Pictures(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.browser = browser.Browser()
        cls.files = tempfile.TemporaryDirectory()

    @classmethod
    def tearDownClass(cls):
        cls.browser.close()
        cls.files.cleanup()

    @contextlib.contextmanager
    def page(self, stacks, form, **how):
        """An opened page that in the end has complained of nothing and asked for nothing."""
        text, _ = make(stacks, form)
        path = pathlib.Path(self.files.name) / f"{stacks}-{form}.{'html' if text.startswith(b'<!') else 'svg'}"
        path.write_bytes(text)
        page = browser.Page(self.browser, path, **how)
        if how.get("script", True):
            page.ask(HELPERS)
        yield page
        self.assertEqual(page.complaints(), [])
        self.assertEqual(page.requests(), [])

    def click(self, page, name):
        page.ask(f"named('{name}').scrollIntoView({{block: 'center'}})")
        left, top, width, height = page.ask(f"box('{name}')")
        page.click(left + width / 2, top + height / 2)

    def test_frames_stand_above_who_called_them(self):
        for form in ("svg", "html"):
            with self.subTest(form), self.page("few", form) as page:
                whole, main, parse = (page.ask(f"box('{name}')") for name in ("all", "main", "parse(char*)"))
                self.assertEqual(whole[2], 1280)
                self.assertAlmostEqual(main[2], 1280 * 0.8, delta=2)
                self.assertLess(main[1], whole[1])
                self.assertLess(parse[1], main[1])
                self.assertGreaterEqual(parse[0], main[0] - 1)

    def test_an_icicle_hangs_and_can_be_turned(self):
        with self.page("few", "icicle") as page:
            self.assertGreater(page.ask("box('main')[1]"), page.ask("box('all')[1]"))
            page.ask("[...document.querySelectorAll('button')].find(b => b.textContent === 'Flame').click()")
            self.assertLess(page.ask("box('main')[1]"), page.ask("box('all')[1]"))

    def test_of_a_high_picture_the_root_is_in_sight(self):
        for form in ("svg", "html", "icicle"):
            with self.subTest(form), self.page("deep", form) as page:
                self.assertGreater(page.ask("document.documentElement.scrollHeight"), page.ask("2 * innerHeight"))
                for _ in range(2):
                    top, height = page.ask("box('all')")[1::2]
                    self.assertGreater(top, page.ask("document.querySelector('.head').getBoundingClientRect().bottom") - 1)
                    self.assertLess(top + height, page.ask("innerHeight"))
                    page.ask("[...document.querySelectorAll('button')][0].click()")

    def test_a_click_zooms_and_escape_shows_all(self):
        with self.page("few", "svg") as page:
            before = page.ask("shown()")
            self.click(page, "read")
            self.assertEqual(page.ask("box('read')[2]"), 1280)
            self.assertEqual(page.ask("box('main')[2]"), 1280)  # below it, as wide
            self.assertIsNone(page.ask("named('poll')?.id"))
            self.assertLess(page.ask("shown()"), before)
            page.press("Escape")
            self.assertEqual(page.ask("shown()"), before)

    def test_search_tells_its_share(self):
        with self.page("few", "html") as page:
            page.press("/")
            page.type("^parse|memcpy")
            self.assertEqual(page.ask("document.querySelector('output').textContent"), "45.00 %")
            self.assertEqual(page.ask("document.querySelectorAll('.hit').length"), 3)
            page.press("Enter")
            self.assertEqual(page.ask("focused()"), "parse(char*)")
            page.press("/")
            page.type("(")
            self.assertEqual(page.ask("document.querySelector('output').textContent"), "no regular expression")
            page.press("Escape")
            self.assertEqual(page.ask("document.querySelectorAll('.hit').length"), 0)

    def test_keys_walk_from_frame_to_frame(self):
        with self.page("few", "svg") as page:
            page.ask("named('main').focus()")
            page.press("ArrowUp")
            self.assertEqual(page.ask("focused()"), "parse(char*)")
            self.assertEqual(page.ask("told()[0]"), "parse(char*)")
            self.assertIn("450.000ms, 45.00 %; itself 300.000ms", page.ask("told()[1]"))
            page.press("ArrowRight")
            self.assertEqual(page.ask("focused()"), "read")
            page.press("Enter")
            self.assertEqual(page.ask("box('read')[2]"), 1280)
            page.press("ArrowDown")
            self.assertEqual(page.ask("focused()"), "main")
            page.press("ArrowUp")
            self.assertEqual(page.ask("focused()"), "read")

    def test_a_frame_under_the_pointer_is_told(self):
        with self.page("few", "html") as page:
            left, top, _, _ = page.ask("box('vfs_read')")
            page.move(left + 5, top + 5)
            self.assertEqual(page.ask("told()[0]"), "vfs_read")
            self.assertIn("[kernel]   250.000ms, 25.00 %", page.ask("told()[1]"))

    def test_without_a_script_it_is_a_picture(self):
        with self.page("few", "svg", script=False) as page:
            page.call("Emulation.setScriptExecutionDisabled", value=False)
            page.ask(HELPERS)
            self.assertEqual(page.ask("named('main').querySelector('text').textContent"), "main")
            self.assertAlmostEqual(page.ask("box('main')[2]"), 1280 * 0.8, delta=2)
            self.assertEqual(page.ask("document.querySelectorAll('.bar').length"), 0)

    def test_what_is_slower_is_reddest(self):
        with self.page("slower", "against-few") as page:
            self.assertEqual(page.ask("[...document.querySelectorAll('.d8')].map(f => f.querySelector('text').textContent)"), ["parse(char*)"])
            self.assertTrue(page.ask("named('parse(char*)').classList.contains('more')"))
            self.assertTrue(page.ask("named('memcpy').classList.contains('less')"))
            gone = page.ask("[...document.querySelectorAll('.gone')].map(line => line.textContent)")
            self.assertEqual(gone[0], "250.000ms  worker > io 1 > _start > main > read")
            self.assertEqual(len(gone), 5)

    def test_only_what_is_proven_has_a_colour(self):
        with self.page("slower", "judged") as page:
            self.assertTrue(page.ask("named('parse(char*)').classList.contains('d8')"))
            self.assertIn("not proven", page.ask("document.querySelector('.legend').textContent"))
            self.assertNotIn("as it was", page.ask("document.querySelector('.legend').textContent"))
        with self.page("slower", "judged-by-few-runs") as page:
            self.assertEqual(page.ask("document.querySelectorAll('.frames .more, .frames .less').length"), 0)
            self.assertIn("itself 600.000ms (+55.6%); not proven", page.ask("named('parse(char*)').querySelector('title').textContent"))
            self.assertNotIn("not proven", page.ask("named('main').querySelector('title').textContent"))  # it has nothing by itself

    def test_sides_of_two_lengths_are_compared_by_rate(self):
        with self.page("slower", "against-few-longer") as page:  # 865 ms in 10 s against 1 s in 20 s
            self.assertIn("865.000ms, baseline 500.000ms (+73.0%) in the same time", page.ask("document.querySelector('.quiet').textContent"))

    def test_nothing_differs_from_itself(self):
        with self.page("few", "against-few") as page:
            self.assertEqual(page.ask("document.querySelectorAll('.frames .more, .frames .less, .gone').length"), 0)
            self.assertGreater(page.ask("document.querySelectorAll('.frames .e').length"), 10)

    def test_small_ones_say_nothing_of_change(self):
        with self.page("many", "against-few") as page:
            small = "[...document.querySelectorAll('.f')].filter(f => f.querySelector('title').textContent.includes(' small frames]'))"
            self.assertGreater(page.ask(small + ".length"), 10)
            self.assertEqual(page.ask(small + ".filter(f => f.matches('.more, .less')).length"), 0)
            self.assertGreater(page.ask("document.querySelectorAll('.more').length"), 10)

    def test_names_are_text(self):
        for form in ("svg", "html"):
            with self.subTest(form), self.page("hostile", form) as page:
                self.assertEqual(page.ask("document.querySelectorAll('script').length"), 1)
                self.assertEqual(page.ask("document.querySelectorAll('img, b, [onload], [onerror]').length"), 0)
                names = page.ask("[...document.querySelectorAll('.f title')].map(title => title.textContent.split('\\n')[0])")
                for name in ("<script>alert(1)</script>", "&lt;b&gt;&#60;i&#62;", "a\\u202egnp.exe\\u2066", "\\xff\\xfe broken \\xc3", "\\uffff\\ufffe"):
                    self.assertIn(name, names)
                self.assertLessEqual(max(map(len, names)), 300)
                page.press("/")
                page.type("<script>")
                self.assertGreater(page.ask("document.querySelectorAll('.hit').length"), 2)

    def test_svg_is_xml(self):
        for stacks in ("few", "hostile", "none", "deep"):
            with self.subTest(stacks):
                self.assertEqual(xml.dom.minidom.parseString(make(stacks, "svg")[0]).documentElement.tagName, "svg")

    def test_nothing_and_much_are_drawn(self):
        for stacks in ("none", "deep"):
            with self.subTest(stacks), self.page(stacks, "svg") as page:
                self.assertEqual(page.ask("box('all')[2]"), 1280)

    def test_many_stacks(self):
        text, milliseconds = make("many", "svg")
        self.assertLess(len(text), MOST_BYTES)
        self.assertLess(milliseconds, MOST_MS * SLOWER)
        with self.page("many", "svg") as page:
            self.assertGreater(page.ask("shown()"), 1000)
            self.assertRegex(page.ask("document.querySelectorAll('.quiet')[0].textContent"), r", \d{7} frames too small to draw$")
            self.click(page, "process3")
            self.assertEqual(page.ask("box('process3')[2]"), 1280)

    def test_it_fits_windows_light_and_dark(self):
        keep = os.environ.get("PICTURES")
        drawn = [("few", "svg"), ("slower", "against-few")] + ([("few", "waiting"), ("many", "html")] if keep else [])
        for width, dark, (stacks, form) in itertools.product((390, 1280, 2560), (False, True), drawn):
            with self.subTest(f"{width} {dark} {stacks} {form}"), self.page(stacks, form, width=width, height=700, dark=dark) as page:
                self.assertEqual(page.ask("document.documentElement.scrollWidth"), width)
                paper = page.ask("getComputedStyle(document.documentElement).backgroundColor")
                self.assertEqual(paper, "rgb(20, 24, 29)" if dark else "rgb(255, 255, 255)")
                if keep:
                    page.picture(pathlib.Path(keep) / f"{stacks}-{form}-{width}-{'dark' if dark else 'light'}.png")


if __name__ == "__main__":
    if not browser.PROGRAM:
        print("no chromium: pictures are not looked at")
        sys.exit(SKIP)
    unittest.main()
