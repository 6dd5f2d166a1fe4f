"""README.md and docs/operations.md name what exists, and all of it: commands, options, targets, files, settings."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from django.core.management import get_commands, load_command_class

ROOT = Path(__file__).resolve().parents[3]
README = (ROOT / "README.md").read_text()
OPERATIONS = (ROOT / "docs" / "operations.md").read_text()
NAMED = sorted(set(re.findall(r"manage\.py (\w+)([^\n`#|]*)", README + OPERATIONS)))
OURS = {name for name, app in get_commands().items() if str(app).startswith("controlui.")}


@pytest.mark.parametrize(("command", "words"), NAMED)
def test_every_command_and_option_named_exists(command: str, words: str) -> None:
    app = get_commands()[command]
    made = load_command_class(app, command) if isinstance(app, str) else app
    known = made.create_parser("manage.py", command).format_help()
    for option in re.findall(r"(?<!\w)--[a-z][a-z-]*", words):
        assert option in known


def test_every_command_of_ours_is_named() -> None:
    said = README + OPERATIONS + (ROOT / "Makefile").read_text()
    assert {name for name in OURS if not re.search(rf"\b{name}\b", said)} == set()


def test_every_make_target_named_exists() -> None:
    targets = set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = set(re.findall(r"(?:^|`)make (\w+)", README, re.MULTILINE))
    assert {"run", "test"} <= named <= targets


def test_every_link_leads_to_a_file() -> None:
    links = set(re.findall(r"\]\(([^)#:]+)\)", README))
    assert len(links) > 3
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_the_first_screen_stays_short() -> None:
    assert len(README.splitlines()) < 150


def test_what_is_not_built_is_said() -> None:
    missing = README.partition("## Not yet")[2].partition("\n## ")[0]
    for word in ("TUI", "chat channels", "touch cards", "invitations", "secrets", "MCP"):
        assert word in missing


def settings_in_code() -> set[str]:
    """Every environment variable that the product reads."""
    found: set[str] = set()
    read = re.compile(r'(?:environ\.get\(|environ\[|flag\(|words\(|kept_secret\()\s*"([A-Z][A-Z_]+)"')
    for package in ("controlui", "outbox", "questions"):
        for file in (ROOT / package).rglob("*.py"):
            if "tests" not in file.parts:
                found |= set(read.findall(file.read_text()))
    return found


def test_the_table_of_settings_is_whole_and_true() -> None:
    table = OPERATIONS.partition("## Settings")[2].partition("\n## ")[0]
    named = {
        name
        for row in table.splitlines()
        if row.startswith("| `")
        for name in re.findall(r"`([A-Z_]+)`", row.split("|")[1])
    }
    assert named == settings_in_code() - {"DJANGO_SETTINGS_MODULE"}
