"""The static files as they are shipped: one style sheet and one script, hashed, pre-compressed, served as bytes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.contrib.staticfiles.storage import ManifestStaticFilesStorage
from django.core.exceptions import ImproperlyConfigured
from django.core.files.base import ContentFile
from django.core.files.storage import Storage
from django.http import HttpRequest, HttpResponse
from whitenoise.compress import Compressor
from whitenoise.middleware import WhiteNoiseMiddleware
from whitenoise.responders import StaticFile

LAYERS = ("reset", "tokens", "base", "layout", "components", "utilities")
STYLE_SHEET, SCRIPT = "app.css", "app.js"
COMMENT_LINE = re.compile(r"^[ \t]*//.*\n?|^[ \t]+", re.MULTILINE)
HASHED_NAME = re.compile(r"\.[0-9a-f]{12}\.[a-z0-9]+$")

Sources = dict[str, tuple[Storage, str]]


def style_sheet_order(names: list[str]) -> list[str]:
    """The sources of app.css in layer order: `css/<layer>.css`, then `css/<layer>/*.css` by name.

    Raises ImproperlyConfigured for a file that belongs to no layer: it would be lost in silence.
    """
    ordered = []
    for layer in LAYERS:
        ordered += sorted(name for name in names if name == f"css/{layer}.css" or name.startswith(f"css/{layer}/"))
    if lost := sorted(set(names) - set(ordered)):
        raise ImproperlyConfigured(f"static/{lost[0]} belongs to none of the cascade layers {', '.join(LAYERS)}.")
    return ordered


def read(sources: Sources, name: str) -> str:
    """The text of one source file."""
    storage, path = sources[name]
    with storage.open(path) as file:
        content: bytes = file.read()
    return content.decode("utf-8").strip()


def join_style_sheets(sources: Sources) -> str:
    """app.css: the layer order first, so that it holds whatever comes first in the file."""
    names = style_sheet_order([name for name in sources if name.startswith("css/")])
    return "\n".join([f"@layer {', '.join(LAYERS)};", *(read(sources, name) for name in names)]) + "\n"


def join_scripts(sources: Sources) -> str:
    """app.js: the scripts in name order. Each keeps to a block of its own and exports nothing.

    Lines that are only a comment stay behind, as do indents; no script has a text of several lines.
    """
    names = sorted(name for name in sources if name.startswith("js/"))
    return "".join(f"{COMMENT_LINE.sub('', read(sources, name))}\n;\n" for name in names)


class BundledStaticFilesStorage(ManifestStaticFilesStorage):
    """Joins the sources at `collectstatic`; `{% static 'app.css' %}` then names the hashed file.

    Before the first `collectstatic` (in tests, say) a name stands for itself.
    """

    manifest_strict = False

    def stored_name(self, name: str) -> str:
        """The hashed name where the manifest has one, else the plain one."""
        return self.hashed_files.get(self.hash_key(self.clean_name(name)), name)

    def post_process(self, paths: Sources, dry_run: bool = False, **options: Any) -> Iterator[Any]:
        """Bundles, hashes, writes the manifest, compresses. The sources do not stay in STATIC_ROOT."""
        if dry_run:
            return
        kept = {name: place for name, place in paths.items() if not name.startswith(("css/", "js/"))}
        for name, content in ((STYLE_SHEET, join_style_sheets(paths)), (SCRIPT, join_scripts(paths))):
            self.delete(name)
            self.save(name, ContentFile(content.encode("utf-8")))
            kept[name] = (self, name)
        for name in paths.keys() - kept.keys():
            self.delete(name)
        compressor = Compressor(quiet=True)
        for name, hashed_name, processed in super().post_process(kept, dry_run, **options):
            if isinstance(processed, Exception):
                raise processed
            if hashed_name and compressor.should_compress(hashed_name):
                for _written in compressor.compress(self.path(hashed_name)):
                    pass
            yield name, hashed_name, processed


class StaticFilesMiddleware(WhiteNoiseMiddleware):  # type: ignore[misc]  # WhiteNoise has no types
    """WhiteNoise for ASGI: our files are small, so they are answered whole.

    Its own file response is a synchronous iterator, which Django would have to consume in a thread, with a
    warning, at each request.
    """

    def add_files(self, root: str | Path, prefix: str | None = None) -> None:
        """As WhiteNoise, but a place that nothing was collected into yet is no reason to warn."""
        if Path(root).is_dir():
            super().add_files(str(root), prefix=prefix)

    def immutable_file_test(self, path: str, url: str) -> bool:
        """Whether the name carries a hash: also a file of the version before, which open pages still ask for."""
        return bool(HASHED_NAME.search(url))

    @staticmethod
    def serve(static_file: StaticFile, request: HttpRequest) -> HttpResponse:
        """The file, or a part of it, with WhiteNoise's status and headers."""
        found = static_file.get_response(request.method, request.META)
        content = b""
        if found.file is not None:
            with found.file:
                content = found.file.read()
        response = HttpResponse(content, status=int(found.status))
        del response["Content-Type"]
        for name, value in found.headers:
            response[name] = value
        return response
