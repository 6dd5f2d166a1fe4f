"""A browser without scripts: reads the forms of a page and presses their buttons, CSRF checks included."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any
from urllib.parse import urlsplit

from django.test import Client

from controlui.chat.models import User

Fields = list[tuple[str, str]]


class Reader(HTMLParser):
    """Forms with their fields and buttons, texts by id, and every tag, of a page."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.forms: list[dict[str, Any]] = []
        self.tags: list[tuple[str, dict[str, str]]] = []
        self.texts: dict[str, str] = {}
        self._open: list[tuple[str, str]] = []
        self._form: dict[str, Any] | None = None
        self._text: tuple[str, str] | None = None
        self.words = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.tags.append((tag, given))
        if tag not in {"input", "meta", "link", "br", "hr", "img", "path"}:
            self._open.append((tag, given.get("id", "")))
        if tag == "form":
            self._form = {"id": given.get("id", ""), "action": given.get("action", ""), "fields": [], "buttons": []}
            self.forms.append(self._form)
        if tag == "button":
            place = self._form if "form" not in given else {"buttons": []}
            if place is not None:
                place["buttons"].append(given)
        if tag == "textarea" and self._form is not None:
            self._text = (given.get("name", ""), "")
        if tag == "input" and self._form is not None and given.get("name"):
            ticked = given.get("type") not in {"radio", "checkbox"} or "checked" in given
            if ticked:
                self._form["fields"].append((given["name"], given.get("value", "")))

    def handle_data(self, data: str) -> None:
        self.words += data
        if self._text is not None:
            self._text = (self._text[0], self._text[1] + data)
        for _tag, name in self._open:
            if name:
                self.texts[name] = self.texts.get(name, "") + data

    def handle_endtag(self, tag: str) -> None:
        if any(name == tag for name, _id in self._open):
            while self._open.pop()[0] != tag:
                pass
        if tag == "form":
            self._form = None
        if tag == "textarea" and self._text is not None and self._form is not None:
            name, text = self._text
            # The parser of a browser drops the first line end of a text box.
            self._form["fields"].append((name, text.removeprefix("\n")))
            self._text = None


class Browser:
    """One person's window."""

    def __init__(self, user: User | None = None) -> None:
        self.client = Client(enforce_csrf_checks=True)
        if user is not None:
            self.client.force_login(user)
        self.response: Any = None

    def open(self, path: str, **headers: str) -> Browser:
        """Goes to an address and follows where it leads."""
        self.response = self.client.get(path, follow=True, headers=headers)
        return self

    @property
    def html(self) -> str:
        """The page's source."""
        return str(self.response.content.decode())

    @property
    def page(self) -> Reader:
        """The page, read."""
        return Reader(self.html)

    @property
    def status(self) -> int:
        """The status of the page on screen."""
        return int(self.response.status_code)

    @property
    def address(self) -> str:
        """Where the window is."""
        found = self.response.request
        query = found.get("QUERY_STRING", "")
        return str(found["PATH_INFO"]) + (f"?{query}" if query else "")

    def form(self, name: str) -> dict[str, Any]:
        """The form with this id, or the only one that goes to this address."""
        found = [form for form in self.page.forms if name in {form["id"], form["action"]}]
        assert len(found) == 1, (name, [form["id"] or form["action"] for form in self.page.forms])
        return found[0]

    def filled(self, name: str, **changes: Any) -> dict[str, list[str]]:
        """The form's fields with some filled in: `text_where="x"`, `choice_where=["o1"]`."""
        fields: dict[str, list[str]] = {}
        for field, value in self.form(name)["fields"]:
            fields.setdefault(field, []).append(value)
        for field, value in changes.items():
            key = field.replace("choice_", "choice-").replace("text_", "text-").replace("own_", "own-")
            fields["tab_seq" if key == "tab-seq" else key] = value if isinstance(value, list) else [value]
        return fields

    def send(self, name: str, *, action: str = "", headers: dict[str, str] | None = None, **changes: Any) -> Browser:
        """Presses a button of a form, and follows where that leads."""
        form = self.form(name)
        fields = self.filled(name, **changes)
        if action:
            assert action in [button.get("value") for button in form["buttons"]], (action, form["buttons"])
            fields["action"] = [action]
        path = form["action"] or self.address
        self.response = self.client.post(path, fields, follow=True, headers=headers or {})
        return self

    def press(self, action: str, **changes: Any) -> Browser:
        """Presses a button of the dock."""
        return self.send("dock-form", action=action, **changes)

    def dock(self) -> dict[str, str]:
        """The dock's attributes."""
        return next(given for _tag, given in self.page.tags if given.get("id") == "dock")

    def question(self) -> str:
        """The question on screen; empty when there is none."""
        return self.page.texts.get("dock-question", "")

    def path(self) -> str:
        """The address without its query."""
        return urlsplit(self.address).path
