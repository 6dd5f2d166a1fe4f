"""Text as HTML. Agent text is Markdown without HTML, sanitised again; everything else is plain text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

import nh3
from django.utils.html import conditional_escape
from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict

# Embeddings, overrides, isolates and their ends. Marks of direction (LRM, RLM, ALM) stay: they order nothing.
BIDI_CONTROL = re.compile("[\u202a-\u202e\u2066-\u2069]")
TAG = re.compile(r"(<[^>]*>)")
RECOMMENDED = re.compile(r"^(?P<label>.*\S)(?P<mark>\s*[(（](?:recommended|推荐)[)）])$", re.IGNORECASE | re.DOTALL)
TAGS = {
    "a", "blockquote", "br", "code", "em", "h3", "hr", "li", "ol", "p", "pre", "s", "strong",
    "table", "tbody", "td", "th", "thead", "tr", "ul",
}  # fmt: skip
# Text longer than this is not worth keeping: a page shows it once in a while.
CACHED_MAX = 20_000


class AgentProse(RendererHTML):
    """Markdown as it fits into a message: one level of heading, images as links, nothing from elsewhere."""

    def image(self, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType) -> str:
        """A link: the page loads nothing that an agent names (no beacon, no broken picture)."""
        token = tokens[index]
        text = self.renderInlineAsText(token.children, options, env) if token.children else ""
        source = str(token.attrs.get("src", ""))
        return f'<a href="{conditional_escape(source)}">{conditional_escape(text or source)}</a>'


def _markdown() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False, "breaks": True}, renderer_cls=AgentProse)
    parser.enable(["table", "strikethrough"])

    def one_heading_level(state: object) -> None:
        # The page's outline is the page's own: whatever level an agent writes, it stands below "Messages".
        for token in state.tokens:  # type: ignore[attr-defined]
            if token.type in {"heading_open", "heading_close"}:
                token.tag = "h3"

    parser.core.ruler.push("one_heading_level", one_heading_level)
    return parser


_PARSER = _markdown()
_CLEANER = nh3.Cleaner(
    tags=TAGS,
    attributes={"*": set(), "a": {"href", "target"}, "ol": {"start"}},
    url_schemes={"http", "https", "mailto"},
    link_rel="noopener nofollow",
    set_tag_attribute_values={"a": {"target": "_blank"}},
)


def shown(match: re.Match[str]) -> str:
    """One bidi control, alone in an isolate: it stands in the text as written, and reorders nothing around it."""
    return f'<bdi class="mark" title="U+{ord(match[0]):04X}">{match[0]}</bdi>'


def plain(text: object) -> SafeString:
    """Text exactly as typed, escaped, with bidi controls made harmless and visible."""
    return mark_safe(BIDI_CONTROL.sub(shown, conditional_escape(str(text))))  # noqa: S308  (escaped on this line)


def option_label(label: str) -> SafeString:
    """An option's label; a closing "(Recommended)" gets less weight, and stays part of the words."""
    found = RECOMMENDED.match(label)
    if found is None:
        return plain(label)
    parts = plain(found["label"]), plain(found["mark"])
    return mark_safe(f'{parts[0]}<span class="suggested">{parts[1]}</span>')  # noqa: S308  (both parts are escaped)


def prose(text: str) -> SafeString:
    """Agent Markdown as clean HTML."""
    return mark_safe(_cached(text) if len(text) <= CACHED_MAX else _rendered(text))  # noqa: S308  (sanitised by nh3)


def _rendered(text: str) -> str:
    clean = _CLEANER.clean(_PARSER.render(text))
    # Between tags only: in an address such a character is percent-encoded already.
    return "".join(
        part if part.startswith("<") else BIDI_CONTROL.sub(shown, part) for part in TAG.split(clean) if part
    ).strip()


_cached = lru_cache(maxsize=256)(_rendered)
