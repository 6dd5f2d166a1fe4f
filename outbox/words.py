"""What went wrong with a delivery, in words for people: made from the code, in the language of whoever reads."""

from __future__ import annotations

from collections.abc import Callable

from django.utils.translation import gettext as _

# Each says what happened and, where a person can do something about it, what.
SENTENCES: dict[str, Callable[[], str]] = {
    "unreachable": lambda: _("The agent's webhook cannot be reached."),
    "tls": lambda: _("The agent's webhook has no certificate that can be trusted."),
    "redirected": lambda: _("The agent's webhook redirects, which is not followed. Correct its address."),
    "address_not_allowed": lambda: _(
        "The agent's webhook has a private address, which is not called (WEBHOOK_PRIVATE)."
    ),
    "no_answer": lambda: _("The agent's webhook took the message and did not answer. It may have arrived."),
    "lease_expired": lambda: _("The agent took the message and did not say whether it accepted it."),
    "internal": lambda: _("Something went wrong on the server while this was sent. It may have arrived."),
    "refused": lambda: _("The agent refused the message."),
}


def sentence(code: str) -> str:
    """What happened, in the active language. `code` is one of ours, or `http_` and the status of an answer."""
    if code in SENTENCES:
        return SENTENCES[code]()
    status = code.removeprefix("http_")
    if status.startswith("5") or status == "429":
        return _("The agent's webhook answered %(status)s.") % {"status": status}
    return _("The agent's webhook refused the message (%(status)s).") % {"status": status}
