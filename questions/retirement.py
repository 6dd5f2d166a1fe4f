"""When a reminder leaves the dock for history (design section 6, study 4.2). Pure Python: no Django.

Everything is compared by the conversation's own count of starts and ends (`seq`), never by time.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RunFacts:
    """What the rule needs to know of a run; `ended` is None while it goes on."""

    id: int
    main: bool
    succeeded: bool
    started: int
    ended: int | None
    recovers: int | None = None


@dataclass(frozen=True, slots=True)
class PromptFacts:
    """What the rule needs to know of an async prompt; `reopened` is where it last came back into the dock."""

    opened: int
    run: int | None = None
    reopened: int | None = None


def retired(prompt: PromptFacts, runs: Iterable[RunFacts]) -> int | None:
    """The boundary that retires the prompt, as its seq; None while it stands in the dock.

    A boundary is the success of a main run that began after the end of the prompt's own run (without a run: after the
    prompt), or that recovered that run. A reopened prompt waits for a boundary after that.
    """
    runs = list(runs)
    origin: int | None = prompt.opened
    if prompt.run is not None:
        origin = next((run.ended for run in runs if run.id == prompt.run), None)
    if origin is None:
        return None
    ends = [
        run.ended
        for run in runs
        if run.main
        and run.succeeded
        and run.ended is not None
        and run.id != prompt.run
        and (run.started > origin or (prompt.run is not None and run.recovers == prompt.run))
        and run.ended > (prompt.reopened or 0)
    ]
    return min(ends, default=None)
