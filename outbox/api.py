"""The REST doors of the inbox, but for the long poll itself (controlui.api.inbox). No rules here."""

from __future__ import annotations

from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response

from controlui.chat.api import actor_of, agent_of
from controlui.chat.models import wire_time
from controlui.rest.docs import REPLAYED, id_parameter, operation
from controlui.rest.views import ApiView, checked, record_response

from . import schema, transitions
from .access import get_delivery_for
from .models import Delivery

ID = id_parameter(schema.DELIVERY_ID, "The delivery's id.")


def record(delivery: Delivery) -> dict[str, Any]:
    """How a delivery stands, for its agent."""
    message = delivery.message.uid if delivery.message else None
    return {"id": delivery.uid, "status": delivery.status, "messageId": message}


class AckView(ApiView):
    """`/inbox/{id}/ack`."""

    @operation(
        "ackDelivery",
        "Accept or refuse a delivery",
        "Accepting saves the message in history, once, and counts with any lease that was given for it; refusing only "
        "with the current one. The same acknowledgement again is told that it stands.",
        request="Ack",
        ok={200: ("DeliveryState", "How the delivery stands now.")},
        errors=(403, 409),
        parameters=(ID, REPLAYED),
        tag="Inbox",
    )
    def post(self, request: Request, id: str) -> Response:  # noqa: A002  (the path says {id})
        """Settles a leased delivery."""
        agent_of(request)
        ack = checked(lambda: schema.parse_ack(request.data))
        delivery = get_delivery_for(actor_of(request), id)
        if ack.accepted:
            delivery, first = transitions.confirm(delivery=delivery, lease=ack.lease)
            return record_response(record(delivery), replayed=not first)
        delivery = transitions.fail(delivery=delivery, lease=ack.lease, code="refused", error=ack.error.strip())
        return record_response(record(delivery))


class LeaseView(ApiView):
    """`/inbox/{id}/lease`."""

    @operation(
        "renewLease",
        "Keep a delivery longer",
        "Renews the current lease for another 60 seconds.",
        request="LeaseRenewal",
        ok={200: ("Lease", "When the lease ends now.")},
        errors=(403, 409),
        parameters=(ID,),
        tag="Inbox",
    )
    def post(self, request: Request, id: str) -> Response:  # noqa: A002  (the path says {id})
        """Renews a lease."""
        agent_of(request)
        lease = checked(lambda: schema.parse_lease(request.data))
        delivery = get_delivery_for(actor_of(request), id)
        until = transitions.renew(delivery=delivery, lease=lease)
        return record_response({"id": delivery.uid, "lease": lease, "leaseExpiresAt": wire_time(until)})
