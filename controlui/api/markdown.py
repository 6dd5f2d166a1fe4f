"""docs/api.md, made from the OpenAPI document by `manage.py api_docs`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from .reading import Api, Component, Field, Operation

HEAD = """# {title} API

{text} This page is made from the OpenAPI document by `python manage.py api_docs`; do not edit it. A running
server shows the same at `/api/docs`, and the document itself at `/api/schema`.

Send `Authorization: Bearer <token>` with every call. An agent's token asks and waits; a person's answers and
skips. Every error has one shape, [Error](#error), and an input's faults come all at once.

## Error statuses

"""


def render(api: Api) -> str:
    """The whole page."""
    lines = [HEAD.format(title=api.title, text=api.text) + "\n".join(table(("Status", "When"), api.errors))]
    for tag, operations in api.tags:
        lines.append(f"## {tag}\n")
        for operation in operations:
            lines += render_operation(operation)
    lines.append("## Bodies and records\n")
    for component in api.components:
        lines += render_component(component)
    return "\n".join(lines).rstrip() + "\n"


def render_operation(operation: Operation) -> Iterator[str]:
    """One call."""
    yield f"### {operation.method} {operation.path}\n"
    yield f"**{operation.summary}.** {operation.text}\n"
    if operation.parameters:
        yield from fields_table(operation.parameters)
    if operation.body:
        yield f"Body: {link(operation.body)}\n"
    rows = [(answer.status, link(answer.component), answer.text) for answer in operation.answers]
    yield from table(("Status", "Body", "When"), rows)


def render_component(component: Component) -> Iterator[str]:
    """One body or record."""
    yield f"### {component.name}\n"
    variants = f" One of {' or '.join(link(name) for name in component.variants)}." if component.variants else ""
    yield f"{component.text}{variants}\n"
    if component.fields:
        yield from fields_table(component.fields)


def fields_table(fields: Iterable[Field]) -> Iterator[str]:
    """The fields of a body, or the parameters of a call."""
    rows = []
    for item in fields:
        name = f"`{item.name}`" + (f" ({item.where})" if item.where else "") + (" required" if item.required else "")
        rows.append((name, item.type, item.text))
    return table(("Name", "Type", "What"), rows)


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """A Markdown table."""
    yield line(head)
    yield line(["---"] * len(head))
    for row in rows:
        yield line([cell.replace("|", "\\|") for cell in row])
    yield ""


def line(cells: Sequence[str]) -> str:
    """One line of a table."""
    return f"| {' | '.join(cells)} |"


def link(component: str) -> str:
    """A link to a component on this page."""
    return f"[{component}](#{component.lower()})" if component else ""
