"""The OpenAPI document as plain rows, for the readable page and for docs/api.md."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from controlui.rest.docs import ERRORS, EVERYWHERE

Document = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Field:
    """One field of an object, or one parameter of an operation."""

    name: str
    type: str
    required: bool
    text: str
    where: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer of an operation; `component` is what its body holds."""

    status: str
    text: str
    component: str


@dataclass(frozen=True, slots=True)
class Operation:
    """One call."""

    id: str
    method: str
    path: str
    summary: str
    text: str
    body: str
    parameters: list[Field] = field(default_factory=list)
    answers: list[Answer] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Component:
    """One body or record."""

    name: str
    text: str
    fields: list[Field]
    variants: list[str]


@dataclass(frozen=True, slots=True)
class Api:
    """Everything there is to read."""

    title: str
    text: str
    errors: list[tuple[str, str]]
    tags: list[tuple[str, list[Operation]]]
    components: list[Component]


def read(document: Document) -> Api:
    """The rows of a document."""
    tags: dict[str, list[Operation]] = {}
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            tags.setdefault(operation["tags"][0], []).append(read_operation(method, path, operation))
    components = [read_component(name, shape) for name, shape in document["components"]["schemas"].items()]
    info = document["info"]
    errors = [(str(status), text) for status, text in sorted((ERRORS | EVERYWHERE).items())]
    return Api(info["title"], info["description"], errors, sorted(tags.items()), components)


def read_operation(method: str, path: str, operation: Document) -> Operation:
    """One call."""
    content = operation.get("requestBody", {}).get("content", {})
    return Operation(
        id=operation["operationId"],
        method=method.upper(),
        path=path,
        summary=operation["summary"],
        text=operation.get("description", ""),
        body=component_of(content),
        parameters=[
            Field(item["name"], type_of(item["schema"]), item.get("required", False), item["description"], item["in"])
            for item in operation.get("parameters", [])
        ],
        answers=[
            Answer(status, answer["description"], component_of(answer.get("content", {})))
            for status, answer in sorted(operation["responses"].items())
        ],
    )


def read_component(name: str, shape: Document) -> Component:
    """One body or record."""
    required = shape.get("required", [])
    fields = [
        Field(key, type_of(value), key in required, value.get("description", ""))
        for key, value in shape.get("properties", {}).items()
    ]
    variants = [name_of(variant) for variant in shape.get("oneOf", [])]
    return Component(name, shape.get("description", ""), fields, variants)


def component_of(content: Document) -> str:
    """The component that a JSON content refers to; empty when there is none."""
    return name_of(content["application/json"]["schema"]) if "application/json" in content else ""


def name_of(shape: Document) -> str:
    """The component that a reference names."""
    return str(shape.get("$ref", "")).rpartition("/")[2]


def type_of(shape: Document) -> str:
    """A type in a few words: `string, 1-64 characters`, `list of AskOption, 2-4`, `"main" or "subagent"`."""
    if "$ref" in shape:
        return name_of(shape)
    if "enum" in shape:
        words = " or ".join(f'"{word}"' for word in shape["enum"])
    elif shape["type"] == "array":
        words = f"list of {type_of(shape['items'])}" + between(shape, "minItems", "maxItems", "")
    elif shape["type"] == "object" and "additionalProperties" in shape and "properties" not in shape:
        words = f"map of name to {type_of(shape['additionalProperties'])}"
    elif shape["type"] == "string":
        words = shape.get("format", "string") + between(shape, "minLength", "maxLength", " characters")
        words += f", {shape['pattern']}" if "pattern" in shape else ""
    else:
        words = shape["type"] + between(shape, "minimum", "maximum", "")
    words += " or null" if shape.get("nullable") else ""
    return words + (f"; default {str(shape['default']).lower()}" if "default" in shape else "")


def between(shape: Document, least: str, most: str, unit: str) -> str:
    """The bounds of a type."""
    low, high = shape.get(least), shape.get(most)
    if low is None and high is None:
        return ""
    if high is None:
        return f", at least {low}{unit}"
    return f", at most {high}{unit}" if low is None else f", {low} to {high}{unit}"
