"""What can go wrong with deliveries. The tree is drawn in controlui/errors.py."""

from __future__ import annotations

from controlui.errors import Conflict

from .models import Delivery


class LeaseLost(Conflict):
    """The lease is not the current one: it ran out, was replaced, or was never given."""

    code = "lease_lost"
    message = "This lease is not valid any more. Take the delivery from the inbox again, if it is there."


class NotNow(Conflict):
    """A press that came when the delivery stood otherwise; `delivery` is how it stands."""

    code = "delivery_changed"
    message = "This message is not in a state for that any more. Nothing was changed."

    def __init__(self, delivery: Delivery) -> None:
        self.delivery = delivery
        super().__init__(extra={"status": delivery.status})


class SentBefore(Conflict):
    """A text that an agent may have seen cannot be changed under the same id."""

    code = "sent_before"
    message = "This message was sent once already, so it cannot be edited. Discard it and write a new one."
