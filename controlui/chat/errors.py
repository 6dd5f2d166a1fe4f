"""What can go wrong with conversations and runs. The tree is drawn in controlui/errors.py."""

from __future__ import annotations

from django.utils.translation import gettext_noop

from controlui.errors import Conflict, ControlUIError, InvalidInput, NotFound


class RunEnded(Conflict):
    """The run is over; nothing can be asked or said in it."""

    code = "run_ended"
    message = "This run has ended. Open a new run."


class RunAlreadyEnded(Conflict):
    """Two ends of one run; the first stands."""

    code = "run_already_ended"
    message = "This run has ended already; the first end stands."


class RunIdInUse(Conflict):
    """The agent used this run id before, for something else."""

    code = "run_id_in_use"
    message = "This run id was used before with other values. Choose another id."


class KeyReused(Conflict):
    """The idempotency key was used before with another body."""

    code = "idempotency_key_reused"
    message = "This Idempotency-Key was used before with another body. Use a new key for a new request."


class TooManyVersions(ControlUIError):
    """More tabs hold texts of their own for one draft than are kept beside it; this one stays in its tab."""

    status = 422
    code = "too_many_versions"
    message = gettext_noop(
        "This was edited in too many places at once, and could not be saved. Keep one of the texts first."
    )


def invalid(path: str, rule: str, message: str, **more: object) -> InvalidInput:
    """One fault of an input that only the database could show."""
    return InvalidInput(details=[{"path": path, "rule": rule, "message": message, **more}])


__all__ = ["KeyReused", "NotFound", "RunAlreadyEnded", "RunEnded", "RunIdInUse", "TooManyVersions", "invalid"]
