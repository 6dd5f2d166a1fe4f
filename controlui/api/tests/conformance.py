"""Holds answers against the OpenAPI document: the status is described, and the body is what it says."""

from __future__ import annotations

import functools
import re
from typing import Any

import jsonschema
from referencing import Registry
from referencing.jsonschema import DRAFT202012

from controlui.api import openapi

ADDRESS = "urn:api"


def with_null(shape: Any) -> Any:
    """OpenAPI 3.0's `nullable`, as JSON Schema says it."""
    if isinstance(shape, list):
        return [with_null(item) for item in shape]
    if not isinstance(shape, dict):
        return shape
    plain = {key: with_null(value) for key, value in shape.items() if key != "nullable"}
    if shape.get("nullable") is True:
        return {"anyOf": [plain, {"type": "null"}]}
    return plain


@functools.cache
def registry() -> Registry[Any]:
    """The document, so that references into it are found."""
    resource = DRAFT202012.create_resource(with_null(openapi.description()))
    found: Registry[Any] = Registry().with_resource(ADDRESS, resource)
    return found


def described(response: Any) -> dict[str, Any]:
    """What the document says of the answer to this request."""
    path, method = response.request["PATH_INFO"], response.request["REQUEST_METHOD"].lower()
    templates = sorted(openapi.description()["paths"], key=len, reverse=True)
    matching = [
        known for known in templates if re.fullmatch(re.sub(r"\{key\}", ".+", re.sub(r"\{id\}", "[^/]+", known)), path)
    ]
    assert matching, f"{path} is not described"
    responses: dict[str, Any] = openapi.description()["paths"][matching[0]][method]["responses"]
    assert str(response.status_code) in responses, f"{method} {matching[0]} does not describe {response.status_code}"
    found: dict[str, Any] = responses[str(response.status_code)]
    return found


def component(name: str) -> jsonschema.Draft202012Validator:
    """The check of one component."""
    return jsonschema.Draft202012Validator(
        {"$ref": f"{ADDRESS}#/components/schemas/{name}"},
        registry=registry(),
        format_checker=jsonschema.Draft202012Validator.FORMAT_CHECKER,
    )


def conforms(response: Any) -> Any:
    """The body of an answer, once it is what the document says; no field is undescribed in records."""
    name = described(response)["content"]["application/json"]["schema"]["$ref"].rpartition("/")[2]
    assert response["Content-Type"] == "application/json"
    body = response.json()
    component(name).validate(body)
    if name != "Error":
        unknown = set(body) - set(openapi.description()["components"]["schemas"][name]["properties"])
        assert not unknown, f"{name} does not describe {unknown}"
    return body
