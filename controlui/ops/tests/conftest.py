"""Real processes for the tests: each with data and a port of its own, ended with its test."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

import httpx
import pytest
from django.conf import settings

DEADLINE = 60.0
# Every warning of a server is a fault, but for those of other people's code that we cannot mend.
PYTHON = (sys.executable, "-W", "error")


@pytest.fixture(scope="session", autouse=True)
def interruptible() -> None:
    """A shell starts background jobs with SIGINT ignored, and programs pass that on: the tests press Ctrl-C."""
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def until(found: Callable[[], Any], what: str, seconds: float = DEADLINE) -> Any:
    """The first true value of `found`; fails with `what` when the deadline passes."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if value := found():
            return value
        time.sleep(0.02)
    raise AssertionError(f"not within {seconds:g} s: {what}")


class Process:
    """`manage.py` with some words, its output kept in files."""

    def __init__(self, place: Place, words: tuple[str, ...], number: int) -> None:
        self.words = words
        self.out, self.err = place.data / f"{number}.out", place.data / f"{number}.err"
        streams: list[IO[bytes]] = [self.out.open("wb"), self.err.open("wb")]
        self.popen = subprocess.Popen(
            [*PYTHON, "manage.py", *words], cwd=settings.BASE_DIR, env=place.env, stdout=streams[0], stderr=streams[1]
        )
        for stream in streams:
            stream.close()

    @property
    def lines(self) -> list[str]:
        """What it has printed so far."""
        return self.out.read_text().splitlines()

    @property
    def errors(self) -> str:
        """What it has written to stderr so far."""
        return self.err.read_text()

    def code(self, seconds: float = DEADLINE) -> int:
        """Its exit code, once it has ended."""
        return self.popen.wait(seconds)

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Sends it a signal and waits for its end."""
        self.popen.send_signal(number)
        return self.code()

    def says(self, text: str) -> None:
        """Waits until it has printed the text."""
        until(
            lambda: text in self.out.read_text() or self.popen.poll() is not None,
            f"{self.words} says {text!r}; stderr: {self.errors}",
        )
        assert text in self.out.read_text(), self.errors


class Place:
    """One CONTROLUI_DATA, and the processes that share it."""

    def __init__(self, data: Path) -> None:
        self.data = data
        kept = {name: value for name, value in os.environ.items() if name not in CLEARED}
        self.env = {**kept, "CONTROLUI_DATA": str(data), "PYTHONUNBUFFERED": "1"}
        self.processes: list[Process] = []

    def start(self, *words: str) -> Process:
        """A command that goes on beside the test."""
        process = Process(self, words, len(self.processes))
        self.processes.append(process)
        return process

    def run(self, *words: str, code: int = 0) -> Process:
        """A command that ends by itself, with this exit code."""
        process = self.start(*words)
        assert process.code() == code, process.errors
        return process

    def up(self, *words: str) -> Process:
        """A server on a free port, ready to be used."""
        process = self.start("up", "--port", "0", *words)
        process.says("/sign-in/")
        return process

    @property
    def server(self) -> dict[str, str]:
        """What `up` wrote for commands of this machine."""
        found: dict[str, str] = json.loads((self.data / "server.json").read_text())
        return found

    def get(self, path: str, **headers: str) -> httpx.Response:
        """One page of the place's server."""
        return httpx.get(self.server["url"] + path, headers=headers, timeout=DEADLINE)

    def api(self, method: str, path: str, token: str, body: Any = None) -> Any:
        """Calls the API of the place's server: (status, body). Raises httpx.TransportError when it is gone."""
        answer = httpx.request(
            method,
            f"{self.server['url']}/api/v1{path}",
            headers={"Authorization": f"Bearer {token}"},
            json=(body or {}) if method == "POST" else None,
            timeout=120,
        )
        return answer.status_code, answer.json()

    def pending(self, token: str, number: int = 1) -> list[dict[str, Any]]:
        """The questions that wait, once there are so many."""

        def found() -> Any:
            questions = self.api("GET", "/questions?status=pending", token)[1]["questions"]
            return questions if len(questions) >= number else None

        waiting: list[dict[str, Any]] = until(found, f"{number} pending questions")
        return waiting

    def end(self) -> None:
        """Nothing outlives the test."""
        for process in self.processes:
            if process.popen.poll() is None:
                process.popen.kill()
                process.popen.wait()


# What the caller has set for itself must not reach the processes of a test.
CLEARED = frozenset(
    {
        "ACCESS_LOG", "ALLOWED_HOSTS", "CONTROLUI_CLOCK_OFFSET_FILE", "CONTROLUI_TOKEN", "CONTROLUI_URL",
        "DATABASE_URL", "DEBUG", "DJANGO_SETTINGS_MODULE", "LOG_FORMAT", "LOG_LEVEL", "METRICS_TOKEN",
        "PUBLIC_URL", "REDIS_URL", "SECRET_KEY", "WEB_CONCURRENCY",
    }
)  # fmt: skip


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    """A fresh CONTROLUI_DATA; whatever was started there ends with the test."""
    made = Place(tmp_path)
    yield made
    made.end()


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """A running server that the tests of a module share, and do not stop."""
    made = Place(tmp_path_factory.mktemp("served"))
    made.up()
    yield made
    made.end()


@pytest.fixture(scope="module")
def owner(served: Place) -> str:
    """A token of the first admin."""
    return served.run("create_token", "owner").lines[-1]
