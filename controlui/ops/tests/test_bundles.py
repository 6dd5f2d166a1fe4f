"""What collectstatic makes of the sources, and how it is served."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.contrib.staticfiles.storage import staticfiles_storage
from django.core.exceptions import ImproperlyConfigured
from django.core.management import call_command
from django.http import HttpRequest, HttpResponse
from django.test import RequestFactory
from django.utils.functional import empty
from pytest_django import Settings

from controlui.ops.bundles import BundledStaticFilesStorage, StaticFilesMiddleware, style_sheet_order


@pytest.fixture
def sources(tmp_path: Path, settings: Settings) -> Iterator[Path]:
    """A small tree of sources, and an empty STATIC_ROOT beside it."""
    root = tmp_path / "sources"
    for name, text in {
        "css/utilities.css": "@layer utilities { .hidden { display: none } }",
        "css/reset.css": "@layer reset { * { margin: 0 } }",
        "css/tokens.css": "@layer tokens { :root { --ink: black } }",
        "css/components/dock.css": "@layer components { .dock { color: red } }" + "\n/* padding */" * 40,
        "css/components/bar.css": "@layer components { .bar { color: blue } }",
        "js/10-dock.js": "// why\n{\n  // more\n  window.order.push('dock') } // no newline at the end",
        "js/00-core.js": "{ window.order = ['core'] }\n" * 20,
        "vendor/thing.js": "var thing = 1;\n" * 100,
    }.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    settings.STATICFILES_DIRS = [root]
    settings.STATIC_ROOT = tmp_path / "collected"
    forget_storage()
    yield root
    forget_storage()


def forget_storage() -> None:
    """The storage reads STATIC_ROOT once: let the next use make a new one."""
    staticfiles_storage._wrapped = empty  # type: ignore[attr-defined]


def collect(settings: Settings) -> tuple[Path, dict[str, str]]:
    """Runs collectstatic; returns STATIC_ROOT and the manifest's paths."""
    call_command("collectstatic", interactive=False, verbosity=0)
    root = Path(settings.STATIC_ROOT)
    return root, json.loads((root / "staticfiles.json").read_text())["paths"]


def not_found(_request: HttpRequest) -> HttpResponse:
    return HttpResponse(status=404)


def test_style_sheets_are_joined_in_layer_order(sources: Path, settings: Settings) -> None:
    root, paths = collect(settings)
    text = (root / paths["app.css"]).read_text()
    assert text.startswith("@layer reset, tokens, base, layout, components, utilities;\n")
    places = [text.index(part) for part in ("@layer reset {", "--ink", ".bar", ".dock", ".hidden")]
    assert places == sorted(places)


def test_scripts_are_joined_in_name_order_each_in_its_own_lines(sources: Path, settings: Settings) -> None:
    root, paths = collect(settings)
    text = (root / paths["app.js"]).read_text()
    assert text.index("'core'") < text.index("'dock'")
    assert text.endswith("\n{\nwindow.order.push('dock') } // no newline at the end\n;\n")
    assert "// why" not in text


def test_sources_do_not_stay_and_what_is_shipped_is_compressed(sources: Path, settings: Settings) -> None:
    root, paths = collect(settings)
    assert not [path for path in root.rglob("*") if path.is_file() and path.relative_to(root).parts[0] in {"css", "js"}]
    assert set(paths) == {"app.css", "app.js", "vendor/thing.js"}
    for name in paths.values():
        packed = (root / f"{name}.gz").read_bytes()
        assert gzip.decompress(packed) == (root / name).read_bytes()


def test_collecting_again_changes_only_what_changed(sources: Path, settings: Settings) -> None:
    _root, before = collect(settings)
    (sources / "js/10-dock.js").write_text("{ window.order.push('new') }")
    root, after = collect(settings)
    assert after["app.css"] == before["app.css"]
    assert after["app.js"] != before["app.js"]
    assert (root / before["app.js"]).exists(), "an open page still asks for the version before"


def test_style_sheet_of_no_layer_is_named() -> None:
    with pytest.raises(ImproperlyConfigured, match=r"static/css/print\.css belongs to none"):
        style_sheet_order(["css/reset.css", "css/print.css"])


def test_static_names_stand_for_themselves_before_collectstatic(sources: Path) -> None:
    assert BundledStaticFilesStorage().url("app.css") == "/static/app.css"


def test_static_names_are_hashed_after_collectstatic(sources: Path, settings: Settings) -> None:
    _root, paths = collect(settings)
    assert BundledStaticFilesStorage().url("app.css") == f"/static/{paths['app.css']}"


def test_hashed_file_is_served_whole_immutable_and_compressed(
    sources: Path, settings: Settings, rf: RequestFactory
) -> None:
    root, paths = collect(settings)
    serve = StaticFilesMiddleware(not_found)
    address = f"/static/{paths['app.css']}"

    plain = serve(rf.get(address))
    assert plain.content == (root / paths["app.css"]).read_bytes()
    assert "immutable" in plain["Cache-Control"]
    assert plain["Content-Type"].startswith("text/css")
    assert "Access-Control-Allow-Origin" not in plain
    assert not plain.streaming

    packed = serve(rf.get(address, headers={"accept-encoding": "gzip"}))
    assert packed["Content-Encoding"] == "gzip"
    assert gzip.decompress(packed.content) == plain.content
    assert serve(rf.get(address, headers={"if-none-match": plain["ETag"]})).status_code == 304
    assert serve(rf.get(address, headers={"range": "bytes=0-5"})).content == b"@layer"
    assert serve(rf.head(address)).content == b""
    assert serve(rf.post(address)).status_code == 405


def test_unhashed_name_is_not_immutable_and_unknown_goes_on(
    sources: Path, settings: Settings, rf: RequestFactory
) -> None:
    collect(settings)
    serve = StaticFilesMiddleware(not_found)
    assert "immutable" not in serve(rf.get("/static/app.css"))["Cache-Control"]
    assert serve(rf.get("/static/css/reset.css")).status_code == 404


def test_middleware_starts_without_anything_collected(sources: Path, rf: RequestFactory) -> None:
    assert StaticFilesMiddleware(not_found)(rf.get("/static/app.css")).status_code == 404
