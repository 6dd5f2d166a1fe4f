"""What every benchmark needs: a server of its own, a scene of people and agents, medians and tables.

Run as scripts (`python bench/X.py`); everything stays on loopback and in a directory that is removed afterwards.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import httpx

ROOT = Path(__file__).resolve().parent.parent
CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
START_SECONDS, STOP_SECONDS = 60.0, 30.0
# Load from one address by a handful of tokens is no abuse here.
NO_LIMITS = {f"THROTTLE_{scope}": "1000000000/min" for scope in ("AGENT", "ASK", "PERSON", "ANONYMOUS")}
QUESTION: dict[str, Any] = {
    "id": "deploy_target",
    "header": "Deploy",
    "question": "Where should I deploy the build?",
    "options": [
        {"label": "Staging (Recommended)", "description": "Safe to try, reset every night"},
        {"label": "Production", "description": "What customers use"},
    ],
}
ANSWERS: dict[str, list[str]] = {"deploy_target": ["Staging (Recommended)"]}


@dataclass(frozen=True, slots=True)
class Place:
    """One agent with one conversation, its owner, and what is needed to act as either."""

    agent: str
    session: str
    uid: str
    person: str
    cookie: str
    prompts: tuple[str, ...] = ()

    @property
    def page(self) -> str:
        """The path of the conversation's page."""
        return f"/c/{self.uid}/"


@contextmanager
def data_directory() -> Iterator[Path]:
    """A directory for one server's data."""
    path = Path(tempfile.mkdtemp(prefix="controlui-bench-"))
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


def environment(data: Path, **more: str) -> dict[str, str]:
    """The environment of a server or a program beside it: embedded defaults unless `more` says otherwise."""
    fixed = {"CONTROLUI_DATA": str(data), "DATABASE_URL": "", "REDIS_URL": "", "LOG_LEVEL": "WARNING"}
    return {**os.environ, **NO_LIMITS, **fixed, "PYTHONUNBUFFERED": "1", **more}


class Server:
    """`manage.py up` in a process of its own, on a spare port."""

    def __init__(self, data: Path, **more: str) -> None:
        self.data, self.env = data, environment(data, **more)
        self.log = data / "server.log"
        self.url = ""
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "manage.py", "up", "--port", "0"],
                cwd=ROOT, env=self.env, stdout=log, stderr=subprocess.STDOUT,
            )  # fmt: skip
        try:
            until(self.is_ready, "the server answers", START_SECONDS)
        except BaseException:
            self.stop()
            print(self.log.read_text(), file=sys.stderr)
            raise

    @property
    def pid(self) -> int:
        """The server's process."""
        return self.process.pid

    @property
    def port(self) -> int:
        """The port it listens on."""
        return int(self.url.rpartition(":")[2])

    def is_ready(self) -> bool:
        """Whether it answers. Raises when it has ended."""
        written = self.log.read_text()
        if self.process.poll() is not None:
            raise RuntimeError(f"the server ended:\n{written}")
        _before, found, after = written.rpartition("running at ")
        if not found or "\n" not in after:
            return False
        self.url = after.split()[0]
        try:
            return httpx.get(f"{self.url}/readyz", timeout=5, trust_env=False).status_code == 200
        except httpx.TransportError:
            return False

    def stop(self) -> None:
        """Ends it politely, and by force when that takes too long."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


@contextmanager
def serving(**more: str) -> Iterator[Server]:
    """A server with data of its own, gone at the end."""
    with data_directory() as data:
        server = Server(data, **more)
        try:
            yield server
        finally:
            server.stop()


def scene(server: Server, number: int, *, prompts: int = 0, group: str = "operators") -> list[Place]:
    """Makes `number` agents, each with an owner and a conversation, and `prompts` pending in each of those."""
    arguments = [str(number), str(prompts), group]
    done = subprocess.run(
        [sys.executable, "bench/scene.py", *arguments],
        cwd=ROOT, env=server.env, check=True, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    return [Place(**{**found, "prompts": tuple(found["prompts"])}) for found in json.loads(done.stdout)]


def until(found: Callable[[], Any], what: str, seconds: float) -> Any:
    """The first true value of `found`. Raises TimeoutError naming `what`."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if value := found():
            return value
        time.sleep(0.02)
    raise TimeoutError(f"not within {seconds:g} s: {what}")


def many_files() -> int:
    """Raises this process's limit of open files, and that of its children, as far as allowed; what it is now."""
    _soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard


def cpu_seconds(pid: int) -> float:
    """Processor time that a process has used: what noise of others does not change."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def percentile(values: Sequence[float], part: float) -> float:
    """The value that `part` (0..1) of the values do not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(part * len(ordered)))]


def spread(values: Sequence[float]) -> str:
    """`median (lowest-highest)`."""
    return f"{median(values):.1f} ({min(values):.1f}-{max(values):.1f})"


def table(title: str, head: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Prints a Markdown table."""
    cells = [list(map(str, head)), *([str(cell) for cell in row] for row in rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(head))]
    lines = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |" for row in cells
    ]
    lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    print(f"\n{title}\n")
    print("\n".join(lines), flush=True)


def busy_elsewhere(seconds: float = 1.0) -> float:
    """Cores that anything on this machine uses right now; above 0.2 a run tells little."""

    def used() -> int:
        fields = [int(word) for word in Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]
        return sum(fields) - fields[3] - fields[4]

    before = used()
    time.sleep(seconds)
    return (used() - before) / os.sysconf("SC_CLK_TCK") / seconds


def pace() -> float:
    """Milliseconds for a fixed bit of Python: how fast this machine is at the moment."""

    def once() -> float:
        start = time.perf_counter()
        sum(range(1_000_000))
        return (time.perf_counter() - start) * 1000

    return median(once() for _number in range(15))


def note_load() -> None:
    """Prints how busy and how fast the machine is, so that a noisy run is known as one.

    From here on SIGTERM ends a benchmark as Ctrl+C does: servers are stopped and data is removed.
    """
    signal.signal(signal.SIGTERM, lambda *_signal: sys.exit(143))
    busy, speed = busy_elsewhere(), pace()
    print(f"{os.cpu_count()} cores, {busy:.2f} in use by others before the start; pace {speed:.1f} ms", flush=True)
