#!/usr/bin/env python3
"""The page in a real browser: light, dark, on a phone, with scripts off. Skipped where there is no Chromium.

usage: browser_test.py [--pictures DIR]    with DIR, leaves a picture of each view there to be looked at
"""
from __future__ import annotations

import contextlib
import io
import sys
import tempfile
import unittest
from pathlib import Path

import browser
import made_up
import report

PROGRAM = browser.find()
if PROGRAM is None:
    print(f"skipped: none of {', '.join(browser.NAMES)} is on PATH")
    sys.exit(77)

PICTURES: list[Path] = []
SECTIONS = ["findings", "rows", "ratios", "samples", "speedups", "kernels", "floors", "history", "machines"]
HOSTILE = "row_fold/<img src=x onerror=alert(1)>/\"'><script>document.title='taken'</script>" + "x" * 300

GROUND = "getComputedStyle(document.documentElement).backgroundColor"

# The contrast of a text with what lies behind it, as WCAG counts it; the smallest over the page's own texts.
CONTRAST = """(() => {
  const shade = (text) => {
    const [r, g, b] = text.match(/[\\d.]+/g).slice(0, 3).map((c) => c / 255).map((c) =>
      c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (node) => {
    for (; node; node = node.parentElement) {
      const colour = getComputedStyle(node).backgroundColor;
      if (/^rgb\\(/.test(colour)) return colour;
    }
    return "rgb(255, 255, 255)";
  };
  let least = [21, ""];
  for (const node of document.querySelectorAll("body *:not(svg, svg *, script)")) {
    if (![...node.childNodes].some((child) => child.nodeType === 3 && child.data.trim())) continue;
    const [a, b] = [shade(getComputedStyle(node).color), shade(behind(node))];
    const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (contrast < least[0]) least = [contrast, node.outerHTML.slice(0, 200)];
  }
  return least;
})()"""


class Views(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        temporary = tempfile.TemporaryDirectory()
        cls.addClassCleanup(temporary.cleanup)
        root = Path(temporary.name)
        made_up.write_nights(root / "results", cases=34, nights=40, processes=3)
        result = made_up.write_last(root, cases=34, nights=40, processes=5)
        file = result / "compare.json"
        # A name that would run, and that would push the page wide, among the real ones.
        file.write_text(file.read_text().replace('"row_fold/legacy/rows:1/cols:128/dtype:fp32/timer:graph"',
                                                 report_json(HOSTILE), 1), encoding="utf-8")
        with contextlib.redirect_stdout(io.StringIO()):
            assert report.main([str(result), "--baselines", str(root / "baselines"), "--no-pictures"]) == 0
        cls.page = result / "report.html"
        cls.browser = browser.Browser(PROGRAM)
        cls.addClassCleanup(cls.browser.close)

    def look(self, name: str, width: int, dark: bool, scripts: bool) -> None:
        """What holds for every view."""
        self.browser.open(self.page, width, dark, scripts)
        if PICTURES:
            self.browser.picture(PICTURES[0] / f"{name}.png")
        complaints = self.browser.happened("Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded")
        self.assertEqual(complaints, [])
        asked = [event["request"]["url"] for event in self.browser.happened("Network.requestWillBeSent")]
        self.assertEqual([url for url in asked if not url.startswith(("file:", "data:"))], [])
        self.assertEqual([url for url in asked if url.startswith("file:")], [self.page.resolve().as_uri()])
        self.assertLessEqual(self.browser.value("document.documentElement.scrollWidth"), width)
        self.assertEqual(self.browser.value("[...document.querySelectorAll('section')].map((s) => s.id)"), SECTIONS)
        self.assertEqual(self.browser.value("document.title"), "StrictBench: last")
        self.assertEqual(self.browser.value("document.querySelectorAll('img, script').length"), 1)
        self.assertEqual(self.browser.value("[...document.querySelectorAll('a[href]')].filter("
                                            "(a) => !document.getElementById(a.hash.slice(1))).length"), 0)
        contrast, where = self.browser.value(CONTRAST)
        self.assertGreaterEqual(contrast, 4.5, where)

    def test_light(self) -> None:
        self.look("light", 1280, dark=False, scripts=True)
        self.assertEqual(self.browser.value(GROUND), "rgb(255, 255, 255)")

    def test_dark(self) -> None:
        self.look("dark", 1280, dark=True, scripts=True)
        self.assertEqual(self.browser.value(GROUND), "rgb(15, 20, 25)")

    def test_phone(self) -> None:
        self.look("phone", 390, dark=False, scripts=True)
        wide = "[...document.querySelectorAll('.box')].filter((b) => b.scrollWidth > b.clientWidth).length"
        self.assertGreater(self.browser.value(wide), 0, "tables scroll inside their boxes")

    def test_everything_said_of_a_kernel_is_in_sight_at_any_width(self) -> None:
        for width in (320, 390, 1150, 1160, 1280):
            self.look(f"kernels-{width}", width, dark=False, scripts=True)
            kernel = self.browser.value("""(() => {
              const box = document.querySelector("table.kernels").closest(".box");
              const seen = box.getBoundingClientRect();
              const row = [...box.querySelectorAll("tbody tr")].find((r) => /tensor_core_gemm/.test(r.textContent));
              const inside = [...row.cells].every((cell) => {
                const {left, right, width, height} = cell.getBoundingClientRect();
                return left >= seen.left && right <= seen.right && width > 0 && height > 0;
              });
              return [box.scrollWidth <= box.clientWidth, inside, [...row.cells].map((c) => c.textContent.trim()),
                      [...row.cells].map((c) => getComputedStyle(c, "::before").content)];
            })()""")
            fits, inside, texts, labels = kernel
            self.assertTrue(fits and inside, (width, kernel))
            self.assertEqual(texts[1:], ["540", "290 ms", "537 us", "37 %", "", "540", "291 ms", "539 us", "81.5 %", "",
                                         "0.997 ×", "−0.34 %"])
            if width < 1160:  # no head stands above a card, so each number says what it is
                self.assertEqual([label.strip('"') for label in labels[1:5] + labels[-2:]],
                                 ["launches before", "time before", "average before", "share before", "speedup",
                                  "less time"])

    def test_scripts_off(self) -> None:
        self.look("scripts-off", 1280, dark=False, scripts=False)
        self.assertEqual(self.browser.value("document.querySelectorAll('th button').length"), 0)
        self.assertEqual(self.browser.value("document.querySelectorAll('table.rows tbody tr').length"), 35)

    def test_sorting(self) -> None:
        self.browser.open(self.page, 1280, False, True)
        changes = "[...document.querySelectorAll('table.rows tbody tr')].map((r) => r.cells[4].dataset.v)"
        for order in ("ascending", "descending"):
            self.browser.value("document.querySelectorAll('table.rows th button')[4].click()")
            values = self.browser.value(changes)
            numbers = [float(value) for value in values if value]
            self.assertEqual(numbers, sorted(numbers, reverse=order == "descending"))
            self.assertEqual(values[len(numbers):], [""] * (len(values) - len(numbers)))
            self.assertEqual(self.browser.value("document.querySelectorAll('table.rows th')[4].ariaSort"), order)


def report_json(name: str) -> str:
    return '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'


if __name__ == "__main__":
    if sys.argv[1:2] == ["--pictures"]:
        PICTURES.append(Path(sys.argv[2]))
        del sys.argv[1:3]
    unittest.main()
