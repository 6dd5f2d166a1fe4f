"""docs/security.md: each of its sentences names tests, and they are there."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
NAMED = re.compile(r"`((?:[\w.-]+/)+test_\w+\.py)::(test_\w+)`")
SENTENCES = [line for line in (ROOT / "docs" / "security.md").read_text().splitlines() if line.startswith("- ")]


def test_there_are_sentences() -> None:
    assert len(SENTENCES) > 15


@pytest.mark.parametrize("sentence", SENTENCES, ids=lambda line: line[2:50])
def test_each_sentence_names_its_tests(sentence: str) -> None:
    named = NAMED.findall(sentence)
    assert named
    for path, name in named:
        tree = ast.parse((ROOT / path).read_text())
        functions = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
        assert name in functions, (path, name)
