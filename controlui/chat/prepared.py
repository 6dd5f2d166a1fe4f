"""Queries that are compiled once: Django builds the SQL of a queryset anew for each use, which takes longer than
most of ours take to run (bench/README.md). The rows, their related rows and their values are Django's own work.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

from django.db import connection
from django.db.models import Model, QuerySet
from django.db.models.query import get_related_populators

M = TypeVar("M", bound=Model)

# Where a parameter goes: text for a text column, a number for a number's. No real value looks like one of these.
TEXT_MARKS = tuple(f"\x01prepared-{number}\x01" for number in range(9))
NUMBER_MARKS = tuple(range(-7_070_707_000, -7_070_707_009, -1))


class Prepared(Generic[M]):
    """A queryset with places for its parameters, compiled at the first use.

    `build` gets one mark for each of `kinds` (`str` or `int`) and returns the queryset that filters by them as if
    they were values; `select_related` and `only` are kept, prefetches are not. Calling it gives the list of rows.
    """

    def __init__(self, build: Callable[..., QuerySet[M]], *kinds: type) -> None:
        self.marks = [
            (TEXT_MARKS if kind is str else NUMBER_MARKS)[number] for number, kind in enumerate(kinds)
        ]  # fmt: skip
        self.build = build
        self.compiled: _Compiled | None = None

    def __call__(self, *values: Any) -> list[M]:
        compiled = self.compiled
        if compiled is None:
            compiled = self.compiled = _Compiled(self.build(*self.marks), self.marks)
        return compiled.rows(values)


class _Compiled:
    """The SQL of a queryset and what turns its rows into objects, as `ModelIterable` does."""

    def __init__(self, queryset: QuerySet[Any], marks: Sequence[Any]) -> None:
        self.compiler = queryset.query.get_compiler(connection=connection)
        self.sql, self.params = self.compiler.as_sql()
        klass = self.compiler.klass_info or {}
        select = self.compiler.select
        self.model = klass["model"]
        self.start, self.end = klass["select_fields"][0], klass["select_fields"][-1] + 1
        self.names = [column[0].target.attname for column in select[self.start : self.end]]
        self.related = get_related_populators(klass, select, connection.alias)  # type: ignore[call-arg]  # the stubs are ahead of 5.2
        self.converters = self.compiler.get_converters([column[0] for column in select])
        # By place: the index of the value that goes there, or None for a constant of the query.
        self.places = [marks.index(param) if param in marks else None for param in self.params]
        missing = set(range(len(marks))) - set(self.places)
        assert not missing, f"parameters {missing} are not in {self.sql}"

    def rows(self, values: Sequence[Any]) -> list[Any]:
        """Runs it."""
        params = [
            param if place is None else values[place] for param, place in zip(self.params, self.places, strict=True)
        ]
        with connection.cursor() as cursor:
            cursor.execute(self.sql, params)
            rows = cursor.fetchall()
        found = []
        for row in self.compiler.apply_converters(rows, self.converters) if self.converters else rows:
            one = self.model.from_db(connection.alias, self.names, row[self.start : self.end])
            for populator in self.related:
                populator.populate(row, one)
            found.append(one)
        return found
