"""docs/ARCHITECTURE.md names only what exists, and every status there is (style guide 36)."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

from controlui.chat.models import Run
from outbox.models import Delivery
from questions.models import Prompt

ROOT = Path(__file__).resolve().parents[3]
TEXT = (ROOT / "docs" / "ARCHITECTURE.md").read_text()
NAMES = sorted(set(re.findall(r"`((?:controlui|outbox|questions)(?:\.\w+)+)`", TEXT)))


@pytest.mark.parametrize("name", NAMES)
def test_every_module_or_function_named_exists(name: str) -> None:
    try:
        importlib.import_module(name)
    except ModuleNotFoundError:
        module, _dot, attribute = name.rpartition(".")
        assert hasattr(importlib.import_module(module), attribute)


def test_enough_is_named() -> None:
    assert len(NAMES) > 15


@pytest.mark.parametrize("status", [*Prompt.Status.values, *Run.Status.values, *Delivery.Status.values])
def test_every_status_is_in_it(status: str) -> None:
    assert re.search(rf"\b{status}\b", TEXT)


def test_it_is_one_page() -> None:
    assert len(TEXT.splitlines()) < 120
