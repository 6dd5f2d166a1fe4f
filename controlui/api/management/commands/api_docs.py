"""Writes docs/api.md from the OpenAPI document."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from controlui.api import markdown, openapi, reading


class Command(BaseCommand):
    """`manage.py api_docs`."""

    help = "Write docs/api.md from the OpenAPI document. A test fails while the two differ."

    def handle(self, *args: Any, **options: Any) -> None:
        """Writes the page."""
        path = settings.BASE_DIR / "docs" / "api.md"
        path.write_text(markdown.render(reading.read(openapi.description())))
        self.stdout.write(f"{path} written.")
