"""Reads of prompts: the wire record, the dock, summaries. None of them writes."""

from .dock import (
    Dock,
    DockView,
    OptionState,
    QuestionState,
    can_extend,
    dock,
    drafts_token,
    question_states,
    requests_of,
)
from .records import listed, record, shown_as, waiting, waiting_counts, waiting_total
from .summaries import SURFACES, Summary, SummaryQuestion, drafts_of, leftover, prompts_of, summary

__all__ = [
    "SURFACES",
    "Dock",
    "DockView",
    "OptionState",
    "QuestionState",
    "Summary",
    "SummaryQuestion",
    "can_extend",
    "dock",
    "drafts_of",
    "drafts_token",
    "leftover",
    "listed",
    "prompts_of",
    "question_states",
    "record",
    "requests_of",
    "shown_as",
    "summary",
    "waiting",
    "waiting_counts",
    "waiting_total",
]
