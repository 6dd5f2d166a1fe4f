"""`worker`: the loop in a process of its own, beside servers that share Redis (design section 5)."""

from __future__ import annotations

import asyncio
import signal
from contextlib import nullcontext
from typing import Any

from controlui.ops.command import OpsCommand
from controlui.ops.processes import claim_memory_layer
from controlui.ops.worker import run


class Command(OpsCommand):
    """Works until SIGTERM or SIGINT, and finishes the batch under way."""

    help = (
        "Expires, re-announces and tidies up in a process of its own. Any number may run; needs REDIS_URL beside `up`."
    )

    def handle(self, **_options: Any) -> None:
        """Refused beside another process on the in-memory layer: the two could not hear each other."""
        with claim_memory_layer() or nullcontext():
            asyncio.run(self.work())

    async def work(self) -> None:
        """Says that it works, so that a supervisor's log shows it."""
        stop = asyncio.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, stop.set)
        self.stdout.write("The worker loop runs. Ctrl-C or SIGTERM ends it after the batch under way.")
        self.stdout.flush()
        await run(stop)
        self.stdout.write("The worker loop has ended.")
