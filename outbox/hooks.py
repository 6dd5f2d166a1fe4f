"""What higher layers asked to be told of, in the same transaction (design section 2). Filled once, at start."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from controlui.chat.transitions import Change

    from .models import Delivery

# Called with the open change, the delivery as it is now, and its status before ("" for a new one).
delivery_changed: list[Callable[[Change, Delivery, str], None]] = []
