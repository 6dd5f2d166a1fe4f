"""Every check of the product, in order: `make test`. Stops at the first that fails and says which."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from machine import chromium, postgres, redis, say

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(sys.executable).parent


def run(name: str, *command: str, **env: str) -> None:
    """One step. Exits with the step's code when it fails."""
    say(name)
    done = subprocess.run(command, cwd=ROOT, env={**os.environ, **env}, check=False)
    if done.returncode != 0:
        sys.exit(f"FAILED: {name} (exit code {done.returncode})")


def run_tests(name: str, *command: str, **env: str) -> None:
    """A step of tests. What fails is run once more, alone and said loudly: a noisy machine may be late once, a
    fault fails twice. Exits with pytest's code when it does."""
    say(name)
    environment = {**os.environ, **env}
    first = subprocess.run(command, cwd=ROOT, env=environment, check=False)
    if first.returncode == 1:
        say(f"{name}: THESE FAILED ONCE, and are run again alone")
        run(f"{name}, those that failed", *command, "--last-failed", "--last-failed-no-failures", "none", **env)
    elif first.returncode != 0:
        sys.exit(f"FAILED: {name} (exit code {first.returncode})")


def missing(what: str, leaves: str) -> None:
    """Says loudly what is not tested without it; under CI that is a failure."""
    say(f"NOT TESTED without {what}: {leaves}")
    if os.environ.get("CI"):
        sys.exit(f"FAILED: {what} is needed here")


def checks() -> None:
    """Style, types, layers, migrations."""
    python = sys.executable
    run("ruff check", python, "-m", "ruff", "check", ".")
    run("ruff format", python, "-m", "ruff", "format", "--check", ".")
    run("mypy", python, "-m", "mypy")
    run("import-linter", str(BIN / "lint-imports"), "--no-logo")
    run("system checks", python, "manage.py", "check", "--fail-level", "WARNING")
    run("migrations", python, "manage.py", "makemigrations", "--check", "--dry-run")


def tests(data: str, extra: list[str]) -> None:
    """All tests on SQLite; then everything but the browser on PostgreSQL and Redis; then the browser."""
    pytest = (sys.executable, "-m", "pytest", "-q", *extra)
    coverage = ("--cov", "--cov-report=", f"--cov-config={ROOT / 'pyproject.toml'}")
    apps = ("controlui", "outbox", "questions")
    run_tests("tests on SQLite", *pytest, *coverage, *apps, "-m", "not postgres and not redis")
    with postgres() as database, redis() as layer:
        if database is None or layer is None:
            missing("PostgreSQL and Redis", "races, fan-out, several processes")
        else:
            run_tests(
                "tests on PostgreSQL and Redis",
                *pytest, *coverage, "--cov-append", *apps, "-m", "not processes or postgres",
                DATABASE_URL=database, REDIS_URL=layer, TEST_DATABASE_URL=database, TEST_REDIS_URL=layer,
            )  # fmt: skip
    run("branch coverage of questions and outbox", sys.executable, "-m", "coverage", "report")
    if chromium() is None:
        missing("Chromium", "everything that people see")
    else:
        run_tests("tests in a real browser", *pytest, "e2e", CONTROLUI_DATA=data)


def main() -> None:
    """All of it; words on the command line go to pytest."""
    with tempfile.TemporaryDirectory(prefix="controlui-test-") as data:
        os.environ["CONTROLUI_DATA"] = data
        for name in ("DATABASE_URL", "REDIS_URL", "SECRET_KEY", "PUBLIC_URL", "DEBUG"):
            os.environ.pop(name, None)
        checks()
        tests(data, sys.argv[1:])


if __name__ == "__main__":
    main()
