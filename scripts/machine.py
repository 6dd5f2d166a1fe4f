"""What the tests need of a machine: Chromium, and a throw-away PostgreSQL and Redis on spare ports.

Finds what is installed; installs what is missing with apt-get where that can be done (Debian, as root); says
what is missing otherwise. Running servers are never touched, and what is started here ends with the tests.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium")
STARTED_WITHIN = 60
_updated = False


def say(text: str) -> None:
    """A line on the terminal, at once."""
    print(f"==> {text}", flush=True)


def spare_port() -> int:
    """A port of the loopback that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def is_root() -> bool:
    """Whether we may install packages and must not run PostgreSQL."""
    return os.geteuid() == 0


def install(package: str) -> bool:
    """Installs a Debian package if that can be done here; whether it was."""
    global _updated  # noqa: PLW0603  (the list of packages is fetched once)
    if not is_root() or shutil.which("apt-get") is None:
        return False
    env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    if not _updated:
        subprocess.run(["apt-get", "update", "-qq"], env=env, check=False, stdout=subprocess.DEVNULL)
        _updated = True
    say(f"installing {package}")
    done = subprocess.run(
        ["apt-get", "install", "-y", "-qq", "--no-install-recommends", package],
        env=env,
        check=False,
        stdout=subprocess.DEVNULL,
    )
    return done.returncode == 0


def find(program: str) -> str | None:
    """A program on the PATH or where Debian keeps PostgreSQL's."""
    for folder in sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True):
        if (folder / program).is_file():
            return str(folder / program)
    return shutil.which(program)


def need(program: str, package: str) -> str | None:
    """The program's path, installing its package if it is missing and that can be done; else None."""
    found = find(program)
    if found is None and install(package):
        found = find(program)
    if found is None:
        say(f"MISSING: {program}. Install it with: apt-get install {package}")
    return found


def chromium() -> str | None:
    """A Chromium for the browser tests; None when there is none."""
    if not Path(CHROMIUM).is_file() and (os.environ.get("CHROMIUM") or not install("chromium")):
        say(f"MISSING: Chromium at {CHROMIUM}. Install it (apt-get install chromium) or set CHROMIUM to its path")
        return None
    return CHROMIUM


def as_postgres(command: list[str]) -> list[str]:
    """The command as the user `postgres`, since PostgreSQL refuses to run as root."""
    return ["runuser", "-u", "postgres", "--", *command] if is_root() else command


@contextlib.contextmanager
def postgres() -> Iterator[str | None]:
    """The address of a throw-away PostgreSQL; None when it cannot be had."""
    initdb, server, ready = need("initdb", "postgresql"), find("postgres"), find("pg_isready")
    if initdb is None or server is None or ready is None:
        yield None
        return
    with tempfile.TemporaryDirectory(prefix="controlui-pg-") as folder:
        if is_root():
            shutil.chown(folder, "postgres")
        data, port = f"{folder}/data", spare_port()
        subprocess.run(
            as_postgres([initdb, "-D", data, "-A", "trust", "-U", "postgres", "-E", "UTF8"]),
            check=True,
            stdout=subprocess.DEVNULL,
        )
        options = ["-p", str(port), "-h", "127.0.0.1", "-k", folder, "-c", "max_connections=200", "-c", "fsync=off"]
        with running(as_postgres([server, "-D", data, *options]), [ready, "-q", "-h", "127.0.0.1", "-p", str(port)]):
            yield f"postgres://postgres@127.0.0.1:{port}/postgres"


@contextlib.contextmanager
def redis() -> Iterator[str | None]:
    """The address of a throw-away Redis; None when it cannot be had."""
    server, client = need("redis-server", "redis-server"), find("redis-cli")
    if server is None or client is None:
        yield None
        return
    with tempfile.TemporaryDirectory(prefix="controlui-redis-") as folder:
        port = spare_port()
        command = [server, "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", folder]
        with running(command, [client, "-p", str(port), "ping"]):
            yield f"redis://127.0.0.1:{port}/0"


@contextlib.contextmanager
def running(command: list[str], probe: list[str]) -> Iterator[None]:
    """Runs a server until the block ends; enters the block once the probe succeeds."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd="/")
    try:
        for _try in range(STARTED_WITHIN * 10):
            if subprocess.run(probe, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0:
                break
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(0.1)
                sys.exit(f"{command[-1]} ended at once with {process.returncode}")
        yield
    finally:
        process.terminate()
        process.wait(30)
