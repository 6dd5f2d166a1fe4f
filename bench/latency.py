"""Created -> panel visible, and Submit -> the waiting call released: alone, and with 50 other conversations active.

One Chromium page is open on a conversation, as a person leaves it. The agent asks over HTTP and waits over HTTP; the
person chooses an option and presses Submit. The browser's clock is set against ours by the round trips that were
quickest, so both ends of a time are on one clock. The other conversations have a page's socket each, which fetches
when it is told to, and their own asks, waits and answers going on (a process of its own: bench/bustle.py).

`latency.py [--times N] [--others N] [--every SECONDS]`
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from statistics import median
from typing import Any

from common import CHROMIUM, FLAGS, QUESTION, Place, Server, note_load, percentile, scene, serving, table
from page import signed_in
from playwright.sync_api import Page, sync_playwright

# When the dock shows a prompt: in the document (a mutation), and in the frame that paints it.
WATCH = """
(() => {
  window.bench = {};
  const now = () => performance.timeOrigin + performance.now();
  new MutationObserver(() => {
    const dock = document.getElementById('dock');
    const prompt = dock?.dataset.prompt;
    if (!prompt || window.bench[prompt] || !dock.querySelector('.option')?.offsetHeight) return;
    const seen = (window.bench[prompt] = { there: now() });
    requestAnimationFrame(() => (seen.frame = now()));
  }).observe(document, { subtree: true, childList: true, attributes: true });
  document.addEventListener('click', (event) => {
    if (event.target.closest('[data-action="submit"]')) window.bench.pressed = performance.timeOrigin + event.timeStamp;
  }, true);
})();
"""
CLOCK = "performance.timeOrigin + performance.now()"


class Agent:
    """Asks and waits on connections that stay open."""

    def __init__(self, server: Server, place: Place) -> None:
        self.session = place.session
        self.headers = {"Authorization": f"Bearer {place.agent}", "Content-Type": "application/json"}
        self.asking, self.waiting = (HTTPConnection("127.0.0.1", server.port) for _number in range(2))

    def call(self, line: HTTPConnection, method: str, path: str, data: Any = None) -> Any:
        """One call, its answer as JSON."""
        line.request(method, f"/api/v1{path}", None if data is None else json.dumps(data), self.headers)
        return json.loads(line.getresponse().read())

    def ask(self) -> str:
        """Opens a prompt; its id."""
        uid: str = self.call(self.asking, "POST", "/ask", {"questions": [QUESTION], "sessionKey": self.session})["id"]
        return uid


class HeldCall(threading.Thread):
    """A waiting agent, and when it was let go (milliseconds of our clock)."""

    def __init__(self, agent: Agent, prompt: str) -> None:
        super().__init__(daemon=True)
        self.agent, self.prompt = agent, prompt
        self.record: Any = None
        self.released = 0.0

    def run(self) -> None:
        """Waits."""
        self.record = self.agent.call(self.agent.waiting, "GET", f"/questions/{self.prompt}/wait?seconds=60")
        self.released = time.time() * 1000


def clock_offset(page: Page) -> float:
    """Milliseconds to add to the browser's clock to get ours."""
    found: list[tuple[float, float]] = []
    for _number in range(30):
        before = time.time() * 1000
        there: float = page.evaluate(CLOCK)
        after = time.time() * 1000
        found.append((after - before, (before + after) / 2 - there))
    return min(found)[1]


def one(page: Page, agent: Agent) -> dict[str, float]:
    """One question, from the call to the release."""
    offset = clock_offset(page)
    asked = time.time() * 1000
    prompt = agent.ask()
    replied = time.time() * 1000
    held = HeldCall(agent, prompt)
    held.start()
    page.wait_for_function("prompt => window.bench[prompt]?.frame", arg=prompt)
    seen = page.evaluate("prompt => window.bench[prompt]", prompt)
    with page.expect_response(lambda response: response.url.endswith("/draft")):
        page.locator("#dock .option").first.click()
    page.locator("#dock [data-action=submit]").click()
    held.join(60)
    assert held.record["status"] == "answered", held.record
    page.wait_for_function("() => !document.getElementById('dock').dataset.prompt")
    return {
        "reply": replied - asked,
        "there": seen["there"] + offset - asked,
        "frame": seen["frame"] + offset - asked,
        "released": held.released - (page.evaluate("window.bench.pressed") + offset),
    }


@contextmanager
def bustle(server: Server, places: list[Place], every: float) -> Iterator[None]:
    """Keeps the other conversations going meanwhile; prints how much went on."""
    command = [sys.executable, str(Path(__file__).with_name("bustle.py")), str(server.port), str(every)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        for place in places:
            child.stdin.write(f"{place.agent}\t{place.person}\t{place.cookie}\t{place.uid}\n")
        child.stdin.write("\n")
        child.stdin.flush()
        print(child.stdout.readline(), end="", flush=True)
        yield
        child.stdin.close()
        print(child.stdout.read(), end="", flush=True)


def rounds(server: Server, place: Place, browser: Any, times: int) -> list[dict[str, float]]:
    """An open page, and so many questions in it."""
    agent = Agent(server, place)
    with signed_in(browser, server, place) as context:
        page = context.new_page()
        page.add_init_script(WATCH)
        with page.expect_response(lambda response: "/live?" in response.url):
            page.goto(place.page)
        one(page, agent)  # its stream is new: the page takes a new ticket for it
        page.wait_for_timeout(1000)
        return [one(page, agent) for _number in range(times)]


def main() -> None:
    """Prints one row for each time, alone and among others."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--others", type=int, default=50)
    parser.add_argument("--every", type=float, default=5.0, help="seconds between two questions of a conversation")
    options = parser.parse_args()
    note_load()
    with serving() as server, sync_playwright() as playwright:
        place = scene(server, 1, group="admins")[0]
        others = scene(server, options.others)
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        alone = rounds(server, place, browser, options.times)
        with bustle(server, others, options.every):
            among = rounds(server, place, browser, options.times)
        browser.close()
    names = {
        "reply": ("ask -> its reply", "", "2.3-2.6"),
        "there": ("ask -> panel in the document", "40", "68-84"),
        "frame": ("ask -> the frame that paints it", "40", "68-84"),
        "released": ("press on Submit -> waiting call released", "40", "129-152"),
    }
    rows = []
    for key, (title, aim, reference) in names.items():
        cells = [
            f"{median(values):.0f} ({min(values):.0f}-{percentile(values, 0.95):.0f})"
            for values in ([found[key] for found in group] for group in (alone, among))
        ]
        rows.append([title, *cells, aim, reference])
    head = ["ms: median (lowest-p95)", "alone", f"among {options.others} others", "aim", "reference system"]
    table("One page, one process", head, rows)


if __name__ == "__main__":
    main()
