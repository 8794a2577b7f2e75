"""A page in a real browser, where there is one: it is drawn, fits a phone, and is light or dark as readers wish."""

import re
import shutil
import subprocess

import numpy as np
import pytest
from matplotlib.image import imread

from jaxsmt.evaluate.compare import METRICS, SystemScore
from jaxsmt.model.explaining.explanation import Explanation, UsedRule
from jaxsmt.pipeline.page.records import (
    ClusterPicture,
    ComponentSizes,
    RunRecord,
    Sample,
    SetRecord,
    Setup,
    TuningCurve,
    WayScores,
    WeightTable,
)
from jaxsmt.pipeline.page.run_page import run_page
from jaxsmt.pipeline.page.sweep_page import SweepRecord, sweep_page
from jaxsmt.pipeline.store import StageRun
from jaxsmt.search.statistics import SearchCounts

CHROMIUM = next(
    (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None
)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium to look at pages with")
FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update", "--hide-scrollbars",
]  # fmt: skip
THEMES = {"light": 1, "dark": 0}  # Chromium's numbers
WIDTHS = (390, 1280)
HEIGHT = 1000
MEASURE = """<script>
document.title = [document.documentElement.scrollWidth, innerWidth].join(" of ");
parent.postMessage(document.title, "*");
</script>"""
LETTERS = """<script>
const texts = [...document.querySelectorAll("svg text")];
const sizes = texts.map(own => own.getScreenCTM().a * parseFloat(getComputedStyle(own).fontSize));
parent.postMessage(Math.floor(Math.min(...sizes)) + " of " + texts.length, "*");
</script>"""
LEAST_LETTERS = 10  # pixels
# a window has a least width, a frame has not
FRAME = """<title></title><script>onmessage = event => document.title = event.data</script>
<iframe src="inner.html" style="width:{}px;height:900px;border:0"></iframe>"""
LONG = "Donaudampfschifffahrtsgesellschaftskapitänsmützenabzeichenverordnung"


def wide_record() -> RunRecord:
    """More components, longer words and longer lines than a phone has room for."""
    names = [f"component{number}" for number in range(9)]
    piece = UsedRule("phrase", 0, 1, (LONG,), (LONG,), (0,), dict.fromkeys(names, 1 / 9), {}, {}, -1.0, -2.0)
    told = Explanation("a", "b", (LONG,), "law", {}, {}, {}, (piece,), {"lm": -2.0}, (), (LONG,), -3.0)
    sample = Sample(1, f"{LONG} " * 4, f"ein {LONG}", {"unweighted": LONG, "own": f"der {LONG}"}, "x", {"own": told})
    ways = {
        way: WayScores(30.0, 50.0, 60.0, {"bleu": 0.01}, 3, SearchCounts(1, 2, 3, 4, 5))
        for way in ("unweighted", "own")
    }
    rows = [((name, "p(t|s)"), [1 / 9] * 9) for name in names]
    iterations = [
        {"number": n, "bleu": 0.3 + n / 100, "interval": [0.28, 0.36], "ter": None, "length_ratio": 1.0,
         "num_hypotheses": 100 * n, "list_score": 0.4, "change": 0.1} for n in range(1, 9)
    ]  # fmt: skip
    return RunRecord(
        LONG, ("de", "en"),
        Setup([f"corpus.components.x.source=/{LONG}/{LONG}"], f"corpus: {LONG * 3}", {"jax": "1"}, "CPU",
              [StageRun(LONG, None, 1.0, 10**9)]),
        [ComponentSizes(name, 10**6, 10**8, 10**8, 10**8, 10**8) for name in names],
        [WeightTable("λ", ("text", "feature"), names, rows)], (["all text"], [[LONG, "1"]]),
        ClusterPicture(["a", "b"], [3, 4], ["x"], [[1.0], [1.0]], [(0.0, 1.0), (1.0, 0.0)], [0, 1]),
        [TuningCurve("all", iterations, 8, True)],
        [SetRecord("test", name, 100, ways, [(LONG, 2)], [sample]) for name in names], LONG,
        {"BLEU": "nrefs:1|case:mixed"},
    )  # fmt: skip


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """The page with everything that folds opened."""
    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_text(run_page(wide_record()).replace("<details>", "<details open>"), encoding="utf-8")
    return path


def chromium(path, folder, theme, width, *arguments):
    """What Chromium prints; the profile is new each time."""
    command = [CHROMIUM, *FLAGS, f"--user-data-dir={folder / 'profile'}", f"--window-size={width},{HEIGHT}"]
    command += [f"--blink-settings=preferredColorScheme={THEMES[theme]}", *arguments, path.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("theme", THEMES)
def test_a_page_is_drawn_in_the_reader_s_colours(page, tmp_path, theme, width):
    chromium(page, tmp_path, theme, width, f"--screenshot={tmp_path / 'page.png'}")
    pixels = imread(tmp_path / "page.png")[..., :3]
    assert pixels.shape[:2] == (HEIGHT, width)
    background = np.median(pixels, axis=(0, 1))
    assert (background > 0.9).all() if theme == "light" else (background < 0.2).all()
    is_drawn = np.abs(pixels - background).max(2) > 0.3
    assert is_drawn.any(1).mean() > 0.3  # most of its height has something to read


@pytest.mark.parametrize("width", [*WIDTHS, 360])
def test_a_page_never_scrolls_sideways(page, tmp_path, width):
    content, window = measured(page.read_text(encoding="utf-8"), tmp_path, width, MEASURE)
    assert content <= window == width


@pytest.mark.parametrize("width", [*WIDTHS, 800])
def test_letters_in_pictures_can_be_read(tmp_path, width):
    smallest, num = measured(sweep_page(wide_sweep()), tmp_path, width, LETTERS)
    assert num > 5
    assert smallest >= LEAST_LETTERS


def measured(html, folder, width, script):
    """Two numbers that a script says of a page in a frame of some width."""
    policy = re.compile(r'<meta http-equiv="Content-Security-Policy"[^>]*>')
    assert len(policy.findall(html)) == 1  # or the script would not run, as it must not
    (folder / "inner.html").write_text(policy.sub("", html).replace("</body>", f"{script}</body>"), encoding="utf-8")
    (folder / "outer.html").write_text(FRAME.format(width))
    shown = chromium(folder / "outer.html", folder, "light", 1400, "--virtual-time-budget=5000", "--dump-dom")
    return map(int, re.search(r"<title>(\d+) of (\d+)</title>", shown).groups())


def wide_sweep() -> SweepRecord:
    """Settings with names that leave little room beside their table."""
    score = SystemScore(30.0, 1.0, 3, None)
    results = {f"mixture=instance lm={name}": dict.fromkeys(METRICS, score) for name in ("trigram", "fivegram")}
    return SweepRecord("x", ("fr", "en"), [], {"test law": results}, {})


def test_scripts_in_a_page_do_not_run(page, tmp_path):
    copy = tmp_path / "attacked.html"
    copy.write_text(page.read_text(encoding="utf-8").replace("</body>", f"{MEASURE}</body>"), encoding="utf-8")
    shown = chromium(copy, tmp_path, "light", 390, "--dump-dom")
    assert re.search(r"<title>(.*?)</title>", shown).group(1) == f"Training run “{LONG}”"
