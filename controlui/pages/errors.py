"""What Django refuses before any view of ours sees it, in our words. The tree is drawn in controlui/errors.py."""

from __future__ import annotations

from django.utils.translation import gettext_noop

from controlui.errors import ControlUIError


class FormTooLarge(ControlUIError):
    """A form over MAX_FORM_BYTES, or with more fields than any page has."""

    status = 413
    code = "body_too_large"
    message = gettext_noop("This is too long to send. Shorten it, then send again.")


class BadRequest(ControlUIError):
    """Nobody can read it: no browser that shows our pages sends such a thing."""

    code = "bad_request"
    message = gettext_noop("This request cannot be read. Go back, and try again.")


class BadHost(ControlUIError):
    """A host name that is not of this server."""

    code = "bad_host"
    message = gettext_noop("This server does not answer under this name. Whoever runs it can add it to ALLOWED_HOSTS.")
