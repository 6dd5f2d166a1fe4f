"""When a reminder leaves the dock: rows J1-J13 of the study under our rules, and order never matters."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from questions.retirement import PromptFacts, RunFacts, retired

# A conversation as a line of words, one seq each: "+1" run 1 begins, "-1" it succeeds, "x1" it fails, "a1" it is
# aborted, "+s2" a subagent's, "+2r1" run 2 recovers run 1 (which that aborts), "Q1" the question asked in run 1,
# "Q" one without a run, "R" it is reopened, "m" a message.
TABLE = [
    ("J1", "+1 Q1 -1", None),
    ("J1 while it runs", "+1 Q1", None),
    ("J2", "+1 Q1 -1 +2 -2", "-2"),
    ("J2 the first of two", "+1 Q1 -1 +2 -2 +3 -3", "-2"),
    ("J2 the later question stays", "+1 -1 +2 Q2 -2", None),
    ("J3 overlapping", "+1 Q1 +2 -1 -2", None),
    ("J3 overlapping, the other first", "+1 Q1 +2 -2 -1", None),
    ("J4", "+1 Q1 +2 -2", None),
    ("J4 then its own end", "+1 Q1 +2 -2 -1", None),
    ("J4 then a later run", "+1 Q1 +2 -2 -1 +3 -3", "-3"),
    ("J4 the own run never ends", "+1 Q1 +2 -2 +3 -3", None),
    ("J5 failed", "+1 Q1 -1 +2 x2", None),
    ("J5 aborted", "+1 Q1 -1 +2 a2", None),
    ("J5 still running", "+1 Q1 -1 +2", None),
    ("J5 a subagent", "+1 Q1 -1 +s2 -2", None),
    ("J6 new messages", "+1 Q1 -1 m m m", None),
    ("J7 no run", "Q", None),
    ("J7 no run, a run that began before", "+1 Q -1", None),
    ("J7 no run, a later run", "Q +1 -1", "-1"),
    ("J8 recovered", "+1 Q1 +2r1 -2", "-2"),
    ("J8 an older one, too", "+1 Q1 -1 +2 +3r2 -3", "-3"),
    ("J9 the recovery fails", "+1 Q1 +2r1 x2", None),
    ("J9 a restart alone", "+1 Q1 a1", None),
    ("J9 the recovery of another run", "+1 Q1 +2 +3r2 -3", None),
    ("J10 its own run succeeds", "+1 -1 +2 Q2 -2", None),
    ("J10 asked by the recovery itself", "+1 +2r1 Q2 -2", None),
    ("J11 reopened", "+1 Q1 -1 +2 -2 R", None),
    ("J11 reopened, next boundary", "+1 Q1 -1 +2 -2 R +3 -3", "-3"),
    ("J11 a run that was under way when it was reopened", "+1 Q1 -1 +2 +3 -2 R -3", "-3"),
    ("J11 reopened after a failure", "+1 Q1 -1 +2 -2 R +3 x3", None),
    ("the own run fails, then a later success", "+1 Q1 x1 +2 -2", "-2"),
]  # fmt: skip


def read(line: str) -> tuple[PromptFacts, list[RunFacts], dict[str, int]]:
    """The facts that a line tells, and the seq of each word."""
    runs: dict[int, dict[str, object]] = {}
    prompt: dict[str, int | None] = {}
    seqs: dict[str, int] = {}
    seq = 0
    for word in line.split():
        seq += 1
        seqs[word] = seq
        kind, rest = word[0], word[1:]
        if kind == "+":
            name, _mark, old = rest.partition("r")
            number = int(name.removeprefix("s"))
            main = not name.startswith("s")
            runs[number] = {"id": number, "main": main, "succeeded": False, "started": seq, "ended": None}
            if old:
                runs[number]["recovers"] = int(old)
                seq += 1
                runs[int(old)]["ended"] = seq
        elif kind in "-xa":
            runs[int(rest)] |= {"ended": seq, "succeeded": kind == "-"}
        elif kind == "Q":
            prompt |= {"opened": seq, "run": int(rest) if rest else None}
        elif kind == "R":
            prompt["reopened"] = seq
    return PromptFacts(**prompt), [RunFacts(**run) for run in runs.values()], seqs  # type: ignore[arg-type]


@pytest.mark.parametrize(("name", "line", "boundary"), TABLE, ids=[row[0] for row in TABLE])
def test_the_table(name: str, line: str, boundary: str | None) -> None:
    prompt, runs, seqs = read(line)
    assert retired(prompt, runs) == (seqs[boundary] if boundary else None)
    for order in itertools.permutations(runs):
        assert retired(prompt, order) == (seqs[boundary] if boundary else None)


words = st.lists(st.sampled_from(["+", "-", "x", "a", "m", "r", "s"]), max_size=14)


@given(before=words, after=words, own=st.booleans())
def test_once_history_has_decided_more_of_it_changes_nothing(before: list[str], after: list[str], own: bool) -> None:
    """What one page was told step by step, and what another reads at once, is the same: the first boundary stays the
    first, and applying the rule to each end alone finds it."""
    line = plausible(before, own, after)
    tokens = line.split()
    first = None
    for length in range(len(tokens) + 1):
        prefix = " ".join(tokens[:length])
        if "Q" not in prefix:
            continue
        prompt, runs, _seqs = read(prefix)
        whole = retired(prompt, runs)
        assert first is None or whole == first
        alone = [
            retired(prompt, [run, *(each for each in runs if each.id == prompt.run and each != run)]) for run in runs
        ]
        assert whole == min((each for each in alone if each is not None), default=None)
        first = first or whole


def plausible(before: list[str], own: bool, after: list[str]) -> str:
    """A line in which runs end once and after their start."""
    running: list[int] = []
    count = 0
    line: list[str] = []
    for word in [*before, "Q", *after]:
        if word in "+sr":
            count += 1
            if word == "r" and running:
                line.append(f"+{count}r{running.pop(0)}")
            else:
                line.append(f"+{'s' if word == 's' else ''}{count}")
            running.append(count)
        elif word == "Q":
            line.append(f"Q{running[-1]}" if own and running else "Q")
        elif word == "m":
            line.append("m")
        elif running:
            line.append(f"{word}{running.pop()}")
    return " ".join(line)
