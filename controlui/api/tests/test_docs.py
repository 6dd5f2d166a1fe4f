"""The description of the API: whole, in step with the code, and readable by people and programs."""

from __future__ import annotations

import re
from io import StringIO
from typing import Any

import jsonschema
import pytest
from django.conf import settings
from django.core.management import call_command
from django.test import Client
from django.urls import get_resolver

from controlui.api import markdown, openapi, reading
from controlui.api.tests.conformance import component
from questions.schema import Faults, parse_ask

pytestmark = pytest.mark.django_db


def operations() -> list[tuple[str, str, dict[str, Any]]]:
    """Every (path, method, operation) of the document."""
    return [
        (path, method, operation)
        for path, methods in openapi.description()["paths"].items()
        for method, operation in methods.items()
    ]


def test_the_document_is_served_to_everybody() -> None:
    response = Client().get("/api/schema")
    assert response.status_code == 200
    assert response["Content-Type"] == "application/json"
    assert response.json() == openapi.description()
    assert response.json()["openapi"].startswith("3.")


def test_every_route_is_described() -> None:
    top: list[Any] = get_resolver().url_patterns
    patterns = next(entry for entry in top if str(entry.pattern) == "api/").url_patterns
    routes = {re.sub(r"<\w+:(\w+)>", r"{\1}", str(route.pattern)) for route in patterns if "v1/" in str(route.pattern)}
    described = {path for path, _method, _operation in operations()}
    assert described == {f"/api/{route}" for route in routes} | {"/api/v1/questions/{id}/wait", "/api/v1/inbox"}


def test_every_operation_describes_its_errors_and_answers() -> None:
    for path, method, operation in operations():
        responses = operation["responses"]
        named = "{" in path or method == "post"
        assert {"401", "503", *(["404"] if named else [])} <= set(responses), path
        assert operation["summary"], path
        assert operation["description"], path
        assert operation["security"] == [{"token": []}], path
        if method == "post":
            assert {"400", "413", "415", "422", "429"} <= set(responses), path
        for code, answer in responses.items():
            reference = answer["content"]["application/json"]["schema"]["$ref"].rpartition("/")[2]
            assert (reference == "Error") == (int(code) >= 400), (path, code)
            assert reference in openapi.description()["components"]["schemas"]


def test_the_wait_door_is_described_by_hand() -> None:
    paths = openapi.description()["paths"]
    assert [item["name"] for item in paths["/api/v1/questions/{id}/wait"]["get"]["parameters"]] == ["id", "seconds"]
    assert "wait" in [item["name"] for item in paths["/api/v1/ask"]["post"]["parameters"]]


def test_every_reference_leads_somewhere() -> None:
    schemas = openapi.description()["components"]["schemas"]
    names = set(re.findall(r"#/components/schemas/(\w+)", str(openapi.description())))
    assert names == set(schemas), "nothing is missing, and nothing is described for nobody"
    for name in schemas:
        jsonschema.Draft202012Validator.check_schema(component(name).schema)


QUESTION = {"id": "a", "header": "h", "question": "q", "options": [{"label": "A"}, {"label": "B"}]}


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"questions": []},
        {"questions": [QUESTION] * 4},
        {"questions": [QUESTION | {"id": "Bad Id"}]},
        {"questions": [QUESTION | {"options": [{"label": "A"}]}]},
        {"questions": [QUESTION | {"options": [{"label": "A"}, {"label": "x" * 65}]}]},
        {"questions": [QUESTION | {"multiSelect": "yes"}]},
        {"questions": [QUESTION], "x": 1},
        {"questions": [QUESTION], "id": "x"},
        {"questions": [QUESTION], "timeoutSeconds": None},
    ],
)
def test_what_the_description_refuses_the_check_refuses_too(body: dict[str, Any]) -> None:
    assert not component("Ask").is_valid(body)
    with pytest.raises(Faults):
        parse_ask(body)


def test_a_described_ask_is_taken() -> None:
    body = {"questions": [QUESTION], "timeoutSeconds": 60, "maxTimeoutSeconds": 120, "id": "0123456789abcdef"}
    component("Ask").validate(body)
    parse_ask(body)


def test_the_readable_page_needs_no_script_and_nothing_from_elsewhere() -> None:
    response = Client().get("/api/docs")
    assert response.status_code == 200
    html = response.content.decode()
    assert "script-src" not in response["Content-Security-Policy"]
    assert "default-src 'self'" in response["Content-Security-Policy"]
    assert not re.search(r"<script|<style|\sstyle=|\son\w+=|https?://", html)
    assert re.findall(r'(?:src|href)="(?!#)([^"]+)"', html) == ["data:,", "/api/docs.css", "/", "/api/schema"]
    assert "`" not in html, "what is code is shown as code"
    for _path, _method, operation in operations():
        assert f'id="{operation["operationId"]}"' in html
    for name in openapi.description()["components"]["schemas"]:
        assert f'id="shape-{name}"' in html


def test_the_style_sheet_of_the_page_is_our_own() -> None:
    response = Client().get("/api/docs.css")
    assert response.status_code == 200
    assert response["Content-Type"] == "text/css; charset=utf-8"


@pytest.mark.parametrize("path", ["/api/schema", "/api/docs", "/api/docs.css"])
def test_the_descriptions_are_only_read(path: str) -> None:
    assert Client().post(path).status_code == 405


def test_every_status_of_an_error_is_listed_once() -> None:
    statuses = [status for status, _text in reading.read(openapi.description()).errors]
    assert statuses == ["400", "401", "403", "404", "405", "406", "409", "413", "415", "422", "429", "503"]
    html = Client().get("/api/docs").content.decode()
    assert all(f"<td>{status}</td>" in html for status in statuses)


def test_docs_api_md_is_fresh() -> None:
    written = (settings.BASE_DIR / "docs" / "api.md").read_text()
    assert written == markdown.render(reading.read(openapi.description())), "run `python manage.py api_docs`"


def test_the_command_writes_the_page(tmp_path: Any, settings: Any) -> None:
    settings.BASE_DIR = tmp_path
    (tmp_path / "docs").mkdir()
    call_command("api_docs", stdout=StringIO())
    assert (tmp_path / "docs" / "api.md").read_text().startswith("# Control UI API")
