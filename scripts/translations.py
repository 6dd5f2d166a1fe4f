#!/usr/bin/env python3
"""Keeps locale/*/LC_MESSAGES/django.po in step with the sources, and compiles it. Needs Babel, not gettext.

`python scripts/translations.py` takes new strings into each .po (untranslated), drops those that are gone, and
writes the .mo. A test fails when the files are not what this makes, or when a string has no translation.
"""

from __future__ import annotations

import datetime as dt
import io
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from babel.messages.catalog import Catalog  # noqa: E402
from babel.messages.extract import extract  # noqa: E402
from babel.messages.mofile import write_mo  # noqa: E402
from babel.messages.pofile import read_po, write_po  # noqa: E402
from django.utils.translation.template import templatize  # noqa: E402

PYTHON = ("controlui", "outbox", "questions")
KEYWORDS: dict[str, tuple[int, ...] | None] = {
    "_": None, "gettext": None, "gettext_lazy": None, "gettext_noop": None, "ngettext": (1, 2), "ngettext_lazy": (1, 2),
}  # fmt: skip
NO_DATE = dt.datetime(2000, 1, 1, tzinfo=dt.UTC)
Found = tuple[str | tuple[str, ...], bool]


def sources() -> Iterator[tuple[Path, io.BytesIO]]:
    """Every file with strings, as Python source; a template is turned into its translation calls."""
    for app in PYTHON:
        for path in sorted((ROOT / app).rglob("*.py")):
            if not {"tests", "migrations"} & set(path.parts):
                yield path, io.BytesIO(path.read_bytes())
    for path in sorted((ROOT / "templates").rglob("*.html")):
        # In brackets, so that the blanks which stand for markup are no indentation.
        yield path, io.BytesIO(f"(\n{templatize(path.read_text())}\n)".encode())


def strings(path: Path, content: io.BytesIO) -> Iterator[Found]:
    """The strings of one source, each with whether it has placeholders."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)
        for _line, message, _comments, _context in extract("python", content, KEYWORDS):
            text = message if isinstance(message, str) else message[0]
            yield (message if isinstance(message, str) else tuple(message[:2])), "%(" in text


def collected() -> Catalog:
    """Every string of the product, in a stable order."""
    found: dict[str | tuple[str, ...], bool] = {}
    for path, content in sources():
        found.update(strings(path, content))
    catalog = Catalog(fuzzy=False)
    for message, has_placeholders in sorted(found.items(), key=lambda item: str(item[0])):
        catalog.add(message, flags=["python-format"] if has_placeholders else [])
    return catalog


def read(path: Path, language: str) -> Catalog:
    """The translations as they are; none for a new language."""
    if not path.exists():
        return Catalog(locale=language, fuzzy=False)
    with path.open("rb") as file:
        return read_po(file, locale=language)


def merged(path: Path, language: str) -> tuple[bytes, bytes]:
    """What the .po and the .mo of a language must be."""
    before, after = read(path, language), Catalog(locale=language, fuzzy=False)
    for message in collected():
        if message.id:
            kept = before.get(message.id)
            after.add(message.id, kept.string if kept else None, flags=message.flags)
    text, binary = io.BytesIO(), io.BytesIO()
    write_po(text, after, omit_header=True, width=110)
    header = "\n".join(
        f'"{line}\\n"'
        for line in (
            f"Language: {language}",
            "MIME-Version: 1.0",
            "Content-Type: text/plain; charset=UTF-8",
            "Content-Transfer-Encoding: 8bit",
            f"Plural-Forms: {after.plural_forms}",
        )
    )
    source = f'msgid ""\nmsgstr ""\n{header}\n\n'.encode() + text.getvalue().lstrip()
    compiled = read_po(io.BytesIO(source), locale=language)
    # Else the file would carry the time of its making, and never be the same twice.
    compiled.creation_date = compiled.revision_date = NO_DATE
    write_mo(binary, compiled)
    return source, binary.getvalue()


def languages() -> Iterator[tuple[str, Path]]:
    """The shipped translations: language and its .po."""
    for folder in sorted((ROOT / "locale").iterdir()):
        yield folder.name, folder / "LC_MESSAGES" / "django.po"


def main() -> None:
    """Brings every language up to date, and says what has no translation yet."""
    for language, path in languages():
        source, binary = merged(path, language)
        path.write_bytes(source)
        path.with_suffix(".mo").write_bytes(binary)
        missing = [message.id for message in read(path, language) if message.id and not all_of(message.string)]
        print(f"{path.relative_to(ROOT)}: {len(missing)} without translation")


def all_of(translation: object) -> bool:
    """Whether every form of a string is translated."""
    forms = translation if isinstance(translation, list | tuple) else [translation]
    return all(forms)


if __name__ == "__main__":
    main()
