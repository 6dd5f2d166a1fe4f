"""Queries that are compiled once: Django builds the SQL of a queryset anew for each use, which takes longer than
most of ours take to run (bench/README.md). The rows, their related rows and their values are Django's own work.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

from django.db import connection
from django.db.models import QuerySet
from django.db.models.query import get_related_populators

T = TypeVar("T")

# Where a parameter goes: a value of its kind that no real one looks like. One of the few that may be `list` stands for
# ids in an IN, which is compiled for 1, 2, 4, 8, ... of them and filled up with the last.
TEXT = "\x01prepared-{}\x01"
NUMBER = -7_070_707_000
MOMENT = dt.datetime(1907, 7, 7, tzinfo=dt.UTC)


class Prepared(Generic[T]):
    """A queryset with places for its parameters, compiled at the first use.

    `build` gets one mark for each of `kinds` (`str`, `int`, `dt.datetime`, or `list` for the ids of an IN) and returns
    the queryset that filters by them as if they were values. `select_related`, `only`, annotations and `values_list`
    are kept; prefetches are not. Calling it gives the list of rows. A parameter that the SQL does not have is a
    mistake, unless `needs_all` is false.
    """

    def __init__(self, build: Callable[..., QuerySet[Any, T]], *kinds: type, needs_all: bool = True) -> None:
        self.build, self.kinds, self.needs_all = build, kinds, needs_all
        self.compiled: dict[tuple[int, ...], _Compiled] = {}

    def __call__(self, *values: Any) -> list[T]:
        sizes: tuple[int, ...] = ()
        if list in self.kinds:
            values = tuple(padded(value) if isinstance(value, list) else value for value in values)
            sizes = tuple(len(value) for value in values if isinstance(value, list))
        compiled = self.compiled.get(sizes)
        if compiled is None:
            compiled = self.compiled[sizes] = self.compile(sizes)
        return compiled.rows(values)

    def compile(self, sizes: tuple[int, ...]) -> _Compiled:
        """The SQL for IN lists of these sizes."""
        marks: list[Any] = []
        left = list(sizes)
        for number, kind in enumerate(self.kinds):
            if kind is list:
                marks.append([NUMBER - 1000 * (number + 1) - place for place in range(left.pop(0))])
            elif kind is dt.datetime:
                marks.append(MOMENT + dt.timedelta(days=number))
            else:
                marks.append(TEXT.format(number) if kind is str else NUMBER - number)
        compiled = _Compiled(self.build(*marks), marks)
        assert not self.needs_all or not compiled.unused, f"parameters {compiled.unused} are not in {compiled.sql}"
        return compiled


def padded(values: list[Any]) -> list[Any]:
    """As many as the next power of two, the last one again and again: few sizes are compiled."""
    size = 1 << (len(values) - 1).bit_length()
    return values + values[-1:] * (size - len(values))


class _Compiled:
    """The SQL of a queryset and what turns its rows into objects, as `ModelIterable` does; tuples for `values_list`."""

    def __init__(self, queryset: QuerySet[Any, Any], marks: Sequence[Any]) -> None:
        self.compiler = queryset.query.get_compiler(connection=connection)
        self.sql, params = self.compiler.as_sql()
        select, klass = self.compiler.select, self.compiler.klass_info
        self.converters = self.compiler.get_converters([column[0] for column in select])
        self.model = None
        if klass and getattr(queryset, "_fields", None) is None:  # else `values_list`
            self.model = klass["model"]
            self.start, self.end = klass["select_fields"][0], klass["select_fields"][-1] + 1
            self.names = [column[0].target.attname for column in select[self.start : self.end]]
            self.related = get_related_populators(klass, select, connection.alias)  # type: ignore[call-arg]  # the stubs are ahead of 5.2
            self.annotations = self.compiler.annotation_col_map or {}
        # What each parameter is: a constant of the query, a value, or one of a list's.
        places: dict[Any, tuple[int, int | None]] = {}
        for number, mark in enumerate(marks):
            if isinstance(mark, list):
                places |= {item: (number, index) for index, item in enumerate(mark)}
            else:
                places[adapted(mark)] = (number, None)
        self.params = [(param, places.get(param)) for param in params]
        self.unused = set(places.values()) - {place for _param, place in self.params}

    def rows(self, values: Sequence[Any]) -> list[Any]:
        """Runs it."""
        values = [adapted(value) for value in values]
        params = []
        for param, place in self.params:
            if place is None:
                params.append(param)
            else:
                number, index = place
                params.append(values[number] if index is None else values[number][index])
        with connection.cursor() as cursor:
            cursor.execute(self.sql, params)
            rows = cursor.fetchall()
        if self.converters:
            rows = self.compiler.apply_converters(rows, self.converters)
        if self.model is None:
            return [tuple(row) for row in rows]
        return [self.row(row) for row in rows]

    def row(self, row: Sequence[Any]) -> Any:
        """One object, with its related ones and annotations."""
        assert self.model is not None
        one = self.model.from_db(connection.alias, self.names, row[self.start : self.end])
        for populator in self.related:
            populator.populate(row, one)
        for name, column in self.annotations.items():
            setattr(one, name, row[column])
        return one


def adapted(value: Any) -> Any:
    """A parameter as the database's driver takes it."""
    return connection.ops.adapt_datetimefield_value(value) if isinstance(value, dt.datetime) else value
