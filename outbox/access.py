"""The only way from (actor, id) to a delivery. Unknown and forbidden are the same NotFound (design rule 8)."""

from __future__ import annotations

from controlui.chat.access import Actor, may_speak, sees_prompts_for, takes_part
from controlui.chat.ids import can_exist
from controlui.errors import Forbidden, NotFound

from .models import Delivery


def get_delivery_for(actor: Actor, uid: str, *, need: str = "view") -> Delivery:
    """The delivery with this id. `need`: "view", "steer" (Retry, Discard) or "edit"; of people only.

    An agent gets the deliveries to it. Raises NotFound, Forbidden.
    """
    rows = Delivery.objects.select_related("conversation__agent", "author", "reply_to__stream", "message")
    delivery = rows.filter(uid=uid).first() if can_exist(uid) else None
    if delivery is None or not sees(actor, delivery):
        raise NotFound("There is no message with this id on its way, or it is not for you.")
    if need == "steer" and not may_steer(actor, delivery):
        raise Forbidden("Only who wrote this message may retry or discard it.", code="not_the_author")
    if need == "edit" and (actor.user is None or delivery.author_id != actor.user.pk):
        raise Forbidden("Only who wrote this message may edit it.", code="not_the_author")
    return delivery


def sees(actor: Actor, delivery: Delivery) -> bool:
    """Whether the actor may read this very message: a reply to a question is for who may see that."""
    if not takes_part(actor, delivery.conversation):
        return False
    if delivery.reply_to is None or not delivery.reply_to.stream.prompts:
        return True
    return sees_prompts_for(actor, delivery.conversation, delivery.reply_to.stream.audience_id)


def may_steer(actor: Actor, delivery: Delivery) -> bool:
    """Whether Retry and Discard are this actor's: who wrote it, while they may speak here, and admins."""
    if actor.user is None:
        return False
    if actor.is_admin:
        return True
    if delivery.author_id != actor.user.pk:
        return False
    return may_speak(actor, delivery.conversation)
