"""`make screenshots`: the demo agent's question as people see it, wide and narrow, light and dark.

Writes docs/panel.png (the one in the README) and the others to e2e/out/. Starts a server of its own.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from machine import chromium, say
from playwright.sync_api import Browser, expect, sync_playwright

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "e2e" / "out"
README_SHOT = ROOT / "docs" / "panel.png"
WIDE, NARROW = {"width": 1280, "height": 800}, {"width": 390, "height": 844}
SHOTS = {
    "wide-light": {"viewport": WIDE, "color_scheme": "light"},
    "wide-dark": {"viewport": WIDE, "color_scheme": "dark"},
    "narrow-light": {"viewport": NARROW, "color_scheme": "light", "has_touch": True},
    "narrow-dark": {"viewport": NARROW, "color_scheme": "dark", "has_touch": True},
}
FLAGS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]


@contextmanager
def manage(data: str, *words: str) -> Iterator[subprocess.Popen[str]]:
    """A command that runs until the block ends; its lines can be read."""
    env = {**os.environ, "CONTROLUI_DATA": data, "DATABASE_URL": "", "REDIS_URL": "", "PYTHONUNBUFFERED": "1"}
    command = [sys.executable, "manage.py", *words]
    process = subprocess.Popen(command, cwd=ROOT, env=env, stdout=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.terminate()
        process.wait(30)


def line_with(process: subprocess.Popen[str], text: str) -> str:
    """The first line of its output with the text. Exits when the output ends before."""
    for line in process.stdout or ():
        if text in line:
            return line.strip()
    sys.exit(f"it ended before it said {text!r}")


def signed_in(browser: Browser, link: str) -> Any:
    """The cookies of the person whose link it is."""
    context = browser.new_context()
    page = context.new_page()
    page.goto(link)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(lambda address: "/sign-in/" not in address)
    return context.storage_state()


def shoot(browser: Browser, url: str, state: Any) -> None:
    """One picture of the newest conversation for each kind of screen."""
    for name, kind in SHOTS.items():
        options: Any = kind
        page = browser.new_context(storage_state=state, reduced_motion="reduce", **options).new_page()
        page.goto(url)
        expect(page.get_by_role("region", name="Question", exact=True)).to_be_visible()
        page.screenshot(path=OUT / f"{name}.png")
        if name == "wide-light":
            page.screenshot(path=README_SHOT)
        page.context.close()
        say(f"e2e/out/{name}.png")


def main() -> None:
    """Server, demo agent, browser, pictures."""
    path = chromium()
    if path is None:
        raise SystemExit(1)
    OUT.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory(prefix="controlui-shots-") as data,
        manage(data, "up", "--port", "0") as server,
        manage(data, "demo_agent", "--pace", "0") as demo,
        sync_playwright() as playwright,
    ):
        link = line_with(server, "/sign-in/")
        line_with(demo, "Asked:")
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        shoot(browser, link.partition("/sign-in/")[0], signed_in(browser, link))
        browser.close()


if __name__ == "__main__":
    main()
