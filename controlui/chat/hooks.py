"""What higher layers asked to be told of, in the same transaction (design section 2).

Filled once, at start, by the apps' `ready`. Each callable gets the open `Change` first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .models import Run
    from .transitions import Change

run_ended: list[Callable[[Change, Run], None]] = []
run_recovered: list[Callable[[Change, Run, Run], None]] = []
conversation_reset: list[Callable[[Change], None]] = []
