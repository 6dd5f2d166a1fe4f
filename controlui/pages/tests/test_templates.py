"""What a partial is (style rule 16), what the style sheet may weigh, and rules that a reader cannot see."""

from __future__ import annotations

import gzip
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from controlui.ops.bundles import style_sheet_order

ROOT = Path(__file__).resolve().parents[3]
TEMPLATES = sorted(path for path in (ROOT / "templates").rglob("*.html") if path.parent.name != "api")
STYLES = ROOT / "static" / "css"


class Roots(HTMLParser):
    """Counts the elements that stand in no other."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.depth = self.roots = 0
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag in {"input", "meta", "link", "br"}:
            return
        self.roots += self.depth == 0
        self.depth += 1

    def handle_endtag(self, tag: str) -> None:
        self.depth -= 1


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: str(path.relative_to(ROOT / "templates")))
def test_a_template_names_its_inputs_and_is_short(path: Path) -> None:
    text = path.read_text()
    assert len(text.splitlines()) <= 80
    assert "Inputs:" in text[: text.index("endcomment")]
    assert " style=" not in text
    assert "onclick" not in text


@pytest.mark.parametrize(
    "name", ["questions/_dock.html", "questions/_question.html", "pages/_composer.html", "questions/_summary.html"]
)
def test_a_partial_has_one_root(name: str) -> None:
    html = re.sub(
        r"{%.*?%}|{{.*?}}", "", (ROOT / "templates" / name).read_text().split("endcomment %}")[1], flags=re.DOTALL
    )
    assert Roots(html).roots == 1


def test_the_style_sheet_is_small_and_layered() -> None:
    names = [str(path.relative_to(ROOT / "static")) for path in STYLES.rglob("*.css")]
    whole = "\n".join((ROOT / "static" / name).read_text() for name in style_sheet_order(names))
    assert len(gzip.compress(whole.encode(), 9)) <= 9 * 1024
    for name in names:
        layer = Path(name).relative_to("css").parts[0].removesuffix(".css")
        assert (ROOT / "static" / name).read_text().startswith(f"@layer {layer} {{"), name


def test_colours_are_tokens_and_directions_are_logical() -> None:
    for path in STYLES.rglob("*.css"):
        text = path.read_text()
        if path.name != "tokens.css":
            assert not re.search(r"#[0-9a-f]{3,8}\b(?!\[)", re.sub(r"#[a-z][\w-]*", "", text)), path.name
        assert not re.search(r"(margin|padding|border)-(left|right)|text-align: (left|right)", text), path.name
        sizes = [float(size) for size in re.findall(r"font-size: ([\d.]+)rem", text)]
        assert not [size for size in sizes if size < 0.875], path.name
