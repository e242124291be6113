"""The report in a real browser: it sorts, runs nothing foreign, fetches nothing, and shows something."""

import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from html import unescape
from pathlib import Path
from socketserver import StreamRequestHandler, ThreadingTCPServer
from threading import Thread

import pytest

from hmrouter.bench.report.page import Page, Section
from hmrouter.bench.report.parts import Figure, Interval, ReportTable, Series
from hmrouter.bench.report.write import write_report

pytestmark = pytest.mark.heavy

FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--hide-scrollbars",
)  # fmt: skip
ATTACK = (
    "<script>document.title='attacked'</script>"
    "<img src=http://attacker.invalid/x onerror=\"document.title='attacked'\">"
)
TABLE = ReportTable(
    "Accuracy",
    ["benchmark", "hm", "difference"],
    [
        ["b", 9.0, Interval(1.0, 0.0, 2.0)],
        ["a", 100.0, None],
        ["c", None, Interval(-3.0, -4.0, -2.0)],
        ["mean", 54.5, None],
    ],
    best="column",
    footer_rows=1,
)
FIGURES = [
    Figure("lines", "Lines", "lines", "x", "y", [Series("hm", [1, 2, 3], [1, 3, 2], [0, 2, 1], [2, 4, 3])]),
    Figure("map", "Map", "heatmap", "harness", "model", [],
           grid={"rows": ["m"], "columns": ["h", "i"], "values": [[10.0, 90.0]], "row_best": [[1]]}),
]  # fmt: skip
PAGE = Page("Report", "hmrouter bench run routing", "2026-01-31", left_out=[ATTACK],
            sections=[Section("routing", ATTACK, [TABLE], FIGURES)])  # fmt: skip


class Browser:
    """Chromium behind a proxy that lets nothing through and remembers what was asked for."""

    def __init__(self, program: str, folder: Path) -> None:
        self.asked: list[str] = []
        asked = self.asked

        class Refusal(StreamRequestHandler):
            def handle(self) -> None:
                asked.extend(self.rfile.readline().decode("latin-1").split(" ")[1:2])
                self.wfile.write(b"HTTP/1.1 502 refused\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")

        self.server = ThreadingTCPServer(("127.0.0.1", 0), Refusal)
        self.server.daemon_threads = True
        proxy = f"--proxy-server=http://127.0.0.1:{self.server.server_address[1]}"
        self.command = [program, *FLAGS, proxy, f"--user-data-dir={folder / 'profile'}"]

    def open(self, page: Path, *flags: str) -> str:
        """What Chromium prints."""
        command = [*self.command, *flags, page.as_uri()]
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=600).stdout

    def asked_by_the_page(self) -> list[str]:
        """Without what Chromium asks its maker for, whatever the page is."""
        own = re.compile(r"(http://)?([a-z0-9-]+\.)*(google|googleapis|gstatic)\.com[:/]")
        return [address for address in self.asked if not own.match(address)]


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[Browser]:
    program = shutil.which("chromium")
    if program is None:
        pytest.skip("Chromium is not installed (Debian: apt-get install chromium)")
    browser = Browser(program, tmp_path)
    thread = Thread(target=browser.server.serve_forever)
    thread.start()
    yield browser
    browser.server.shutdown()
    thread.join()
    browser.server.server_close()


def without_policy(html: str) -> str:
    """The page lets only its own script run; a test that adds one must take that policy away."""
    return re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", html)


@pytest.fixture
def report(tmp_path: Path) -> Path:
    pytest.importorskip("matplotlib")
    write_report(tmp_path / "out", PAGE)
    return tmp_path / "out" / "report.html"


def changed(report: Path, html: str) -> Path:
    """A copy of the report with another content."""
    copy = report.with_name("changed.html")
    copy.write_text(html, "utf-8")
    return copy


@pytest.mark.parametrize(
    ("clicks", "order"),
    [
        ("", "bac"),
        ("0", "abc"),
        ("00", "cba"),
        ("000", "bac"),
        ("1", "abc"),  # by number, not as text; the empty cell last
        ("11", "bac"),
        ("2", "bca"),
        ("22", "cba"),
        ("12", "bca"),
    ],
)
def test_heads_sort_their_column(report: Path, browser: Browser, clicks: str, order: str) -> None:
    script = "".join(f"document.querySelectorAll('thead button')[{n}].click();" for n in clicks)
    html = without_policy(report.read_text("utf-8")).replace("</body>", f"<script>{script}</script></body>")
    dom = browser.open(changed(report, html), "--dump-dom")
    assert re.findall(r'<tr><th scope="row"[^>]*>([^<]*)</th>', dom) == [*order, "mean"]


def test_own_script_runs_and_no_other(report: Path, browser: Browser) -> None:
    dom = browser.open(report, "--dump-dom")
    assert dom.count('<button type="button"') == 3
    assert dom.count('aria-sort="none"') == 3
    assert "<title>Report</title>" in dom
    assert ATTACK in unescape(dom)
    assert browser.asked_by_the_page() == []


def test_policy_stops_what_escaping_would_miss(report: Path, browser: Browser) -> None:
    torn = report.read_text("utf-8").replace("</main>", f"{ATTACK}</main>")
    assert "<title>Report</title>" in browser.open(changed(report, torn), "--dump-dom")
    assert browser.asked_by_the_page() == []
    assert "<title>attacked</title>" in browser.open(changed(report, without_policy(torn)), "--dump-dom")
    assert browser.asked_by_the_page() == ["http://attacker.invalid/x"]


@pytest.mark.parametrize("width", [1400, 500])
def test_page_is_shown_without_sideways_scrolling(report: Path, browser: Browser, width: int) -> None:
    image = pytest.importorskip("PIL.Image")
    wide = ReportTable("Wide", ["benchmark", *(f"method_{i}" for i in range(60))], [["gaia", *range(60)]])
    write_report(report.parent, replace(PAGE, sections=[*PAGE.sections, Section("wide", "Wide", [wide], [])]))
    shot, size = report.with_name("shot.png"), f"--window-size={width},2400"
    browser.open(report, f"--screenshot={shot}", size)
    picture = image.open(shot).convert("RGB")
    assert picture.size == (width, 2400)
    colours = {colour for _, colour in picture.getcolors(1 << 24)}
    assert (0x28, 0x78, 0xB5) in colours  # the line of hm
    assert (0x12, 0x3F, 0x66) in colours  # the darkest cell of the heat map
    ask = "<script>document.title = document.documentElement.scrollWidth <= innerWidth</script>"
    html = without_policy(report.read_text("utf-8")).replace("</body>", f"{ask}</body>")
    assert "<title>true</title>" in browser.open(changed(report, html), "--dump-dom", size)
