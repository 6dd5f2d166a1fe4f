"""A cold page with an open panel: requests, bytes on the wire, time until an option can be clicked, DOM nodes.

A real Chromium, a fresh profile for every load; the sizes are those that the browser's network log names (headers
included), the socket's handshake and frames with them.

`page.py [--loads N]`
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass, field
from statistics import median
from typing import Any
from urllib.parse import urlsplit

from common import CHROMIUM, FLAGS, Place, Server, note_load, scene, serving, spread, table
from playwright.sync_api import Browser, BrowserContext, CDPSession, Page, sync_playwright

# Looks at every frame until the middle of the first option is really what a click there would meet.
WATCH = """
(() => {
  window.bench = {};
  const look = () => {
    const option = document.querySelector('#dock .option');
    if (option) {
      const box = option.getBoundingClientRect();
      const hit = document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2);
      if (box.height && hit && option.contains(hit)) {
        window.bench.clickable = performance.now();
        return;
      }
    }
    requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
})();
"""
READ = """
() => ({
  clickable: window.bench.clickable,
  paint: performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0,
  nodes: document.querySelectorAll('*').length,
  scripts: performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd,
})
"""
FRAME_HEAD = 2  # bytes before a short frame's text; 4 from 126 bytes on


@dataclass
class Wire:
    """What the browser's network log says of one load."""

    names: dict[str, str] = field(default_factory=dict)
    sizes: dict[str, float] = field(default_factory=dict)
    frames: int = 0
    frame_bytes: int = 0

    def listen(self, page: Page) -> CDPSession:
        """From now on, until what it returns is detached."""
        log = page.context.new_cdp_session(page)
        log.on("Network.requestWillBeSent", self.requested)
        log.on("Network.responseReceived", self.answered)
        log.on("Network.loadingFinished", self.finished)
        log.on("Network.webSocketCreated", lambda event: self.named(event["requestId"], event["url"]))
        log.on("Network.webSocketHandshakeResponseReceived", self.shaken)
        log.on("Network.webSocketFrameReceived", self.framed)
        log.send("Network.enable")
        return log

    def named(self, key: str, url: str) -> None:
        """A request, by its path; data: addresses never leave the browser."""
        if not url.startswith("data:"):
            self.names[key] = urlsplit(url).path

    def requested(self, event: Any) -> None:
        """One request."""
        self.named(event["requestId"], event["request"]["url"])

    def answered(self, event: Any) -> None:
        """The head of a response; all there is of a 304."""
        self.sizes[event["requestId"]] = event["response"]["encodedDataLength"]

    def finished(self, event: Any) -> None:
        """One response, whole."""
        key = event["requestId"]
        self.sizes[key] = max(event["encodedDataLength"], self.sizes.get(key, 0))

    def shaken(self, event: Any) -> None:
        """The socket's handshake."""
        response = event["response"]
        text = response.get("headersText") or "".join(
            f"{name}: {value}\r\n" for name, value in response["headers"].items()
        )
        self.sizes[event["requestId"]] = len(text)

    def framed(self, event: Any) -> None:
        """One frame from the server."""
        size = len(event["response"]["payloadData"].encode())
        self.frames += 1
        self.frame_bytes += size + FRAME_HEAD + 2 * (size > 125)

    @property
    def total(self) -> float:
        """All bytes that came in."""
        return sum(self.sizes.get(key, 0) for key in self.names) + self.frame_bytes


def signed_in(browser: Browser, server: Server, place: Place) -> BrowserContext:
    """A fresh browser profile in which the conversation's owner is signed in."""
    context = browser.new_context(base_url=server.url, viewport={"width": 1280, "height": 800})
    name, _equals, value = place.cookie.partition("=")
    context.add_cookies([{"name": name, "value": value, "url": server.url}])
    return context


def load(browser: Browser, server: Server, place: Place) -> tuple[Wire, dict[str, float], dict[str, float]]:
    """One cold load until the page has caught up over its socket, then one warm reload."""
    with signed_in(browser, server, place) as context:
        page = context.new_page()
        page.add_init_script(WATCH)
        wire = Wire()
        log = wire.listen(page)
        with page.expect_response(lambda response: "/live?" in response.url):
            page.goto(place.page)
        page.wait_for_function("() => window.bench.clickable")
        page.wait_for_timeout(500)  # whatever comes late belongs to the load as well
        cold: dict[str, float] = page.evaluate(READ)
        log.detach()
        with page.expect_response(lambda response: "/live?" in response.url):
            page.reload()
        page.wait_for_function("() => window.bench.clickable")
        warm: dict[str, float] = page.evaluate(READ)
    return wire, cold, warm


def main() -> None:
    """Prints the summary, and what each request weighs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--loads", type=int, default=8)
    options = parser.parse_args()
    note_load()
    with serving() as server, sync_playwright() as playwright:
        place = scene(server, 1, prompts=1)[0]
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        load(browser, server, place)  # the browser's and the server's own first time
        loads = [load(browser, server, place) for _number in range(options.loads)]
        browser.close()
    wires, colds, warms = zip(*loads, strict=True)
    rows = [
        ["requests", spread([len(wire.names) for wire in wires]), "6", "65-66"],
        ["KB on the wire", spread([wire.total / 1024 for wire in wires]), "60", "1 427"],
        ["socket frames after load", spread([wire.frames for wire in wires]), "", "44-45"],
        ["first contentful paint, ms", spread([cold["paint"] for cold in colds]), "", "880-1200"],
        ["option clickable, ms", spread([cold["clickable"] for cold in colds]), "400", "1800 (1670-2150)"],
        ["scripts have run, ms", spread([cold["scripts"] for cold in colds]), "", ""],
        ["warm reload: option clickable, ms", spread([warm["clickable"] for warm in warms]), "", "1240 (1180-1630)"],
        ["DOM nodes", spread([cold["nodes"] for cold in colds]), "", "428"],
    ]
    table("Cold page with an open panel: median (range)", ["what", "here", "aim", "reference system"], rows)
    typical = min(wires, key=lambda wire: abs(wire.total - median(wire.total for wire in wires)))
    parts = [[name, f"{typical.sizes.get(key, 0):.0f}"] for key, name in typical.names.items()]
    table("One load, request by request", ["request", "bytes"], [*parts, ["socket frames", typical.frame_bytes]])


if __name__ == "__main__":
    main()
