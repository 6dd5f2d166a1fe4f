"""Words of the API's description, as HTML."""

from __future__ import annotations

import re

from django import template
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

register = template.Library()

CODE = re.compile(r"`([^`]+)`")


@register.filter
def code(text: str) -> SafeString:
    """Everything escaped, and what stands between backticks as code."""
    return mark_safe(CODE.sub(r"<code>\1</code>", escape(text)))  # noqa: S308  (escaped just here)
