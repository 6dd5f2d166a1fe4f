"""Every string is translated, with its placeholders, and the compiled file is the one that the sources make."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from django.utils import translation
from django.utils.translation import gettext, ngettext

ROOT = Path(__file__).resolve().parents[3]
PLACEHOLDER = re.compile(r"%\(\w+\)s|\{\w+\}|</?\w+>")


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    """scripts/translations.py."""
    spec = importlib.util.spec_from_file_location("translations", ROOT / "scripts" / "translations.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_files_are_fresh(tool: Any) -> None:
    for language, path in tool.languages():
        source, binary = tool.merged(path, language)
        assert path.read_bytes() == source, f"run: python scripts/translations.py  ({path})"
        assert path.with_suffix(".mo").read_bytes() == binary, f"run: python scripts/translations.py  ({path})"


def test_everything_is_translated(tool: Any) -> None:
    for language, path in tool.languages():
        for message in tool.read(path, language):
            if not message.id:
                continue
            assert tool.all_of(message.string), message.id
            originals = message.id if isinstance(message.id, tuple) else (message.id,)
            forms = message.string if isinstance(message.string, tuple) else (message.string,)
            for form in forms:
                assert set(PLACEHOLDER.findall(form)) == set(PLACEHOLDER.findall(originals[-1])), message.id


def test_the_pages_words_are_found_by_django() -> None:
    with translation.override("zh-hans"):
        assert gettext("Submit") == "提交"
        assert ngettext("%(n)s unanswered question", "%(n)s unanswered questions", 2) % {"n": 2} == "2 个未回答的问题"


def test_scripts_find_every_word_they_say() -> None:
    template = (ROOT / "templates" / "pages" / "_words.html").read_text()
    has = {re.sub("-([a-z])", lambda m: m[1].upper(), name) for name in re.findall(r"\bdata-([\w-]+)=", template)}
    for path in (ROOT / "static" / "js").glob("*.js"):
        for name in re.findall(r"ui\.word\('(\w+)'[),]", path.read_text()):
            assert name in has, (path.name, name)
