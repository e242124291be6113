"""Which tasks are the same, and which are of one family.

The same: the same id or the same text, in one suite. A family: the name that the user gave it (`Task.family`), else
texts that differ in little (`NearTexts`), in one suite. A question that names no suite is looked up in all of them; if
its text stands in several, which of them is meant is not known, and they count as tasks of its family.

Tasks are known by their place in a `Ledger`. Texts, names and suites are kept as hashes only.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from hmrouter.evidence.ledger import Ledger, task_key, text_key
from hmrouter.features.near_texts import NearTexts
from hmrouter.persistent import IntMap
from hmrouter.scorers.safe.memory.variances import MOST_OF_SUITE
from hmrouter.state import Array, Ints, State
from hmrouter.types import DEFAULT_SUITE, Task

MOST = 100
"""How many tasks of a family are looked at: the last ones."""


@dataclass(frozen=True, slots=True)
class Relatives:
    """The places of tasks that tell about another one."""

    same: tuple[int, ...] = ()
    family: tuple[int, ...] = ()
    share: float = 0.0
    """The family's share of its suite: what holds for all of a suite the pooled model says already."""


class TaskIndex:
    """Finds tasks by text and by family. It never changes: `after` gives another."""

    def __init__(self, suites: Sequence[int], suite: Any, family: Any, texts: Any, tasks: Any, near: NearTexts) -> None:
        """`suites`: their hashes. Per task: the place of its suite, and the label of its family. `texts` and `tasks`:
        labels of texts, sorted, and the tasks that have them.
        """
        self._suites = list(suites)
        self._suite, self._family = np.asarray(suite, dtype=np.int64), np.asarray(family, dtype=np.uint64)
        self._texts, self._tasks = np.asarray(texts, dtype=np.uint64), np.asarray(tasks, dtype=np.int64)
        self._near = near
        order = np.argsort(self._family, kind="stable")
        self._members = self._family[order], order
        self._sizes: dict[int, int] = dict(
            zip(*(a.tolist() for a in np.unique(self._suite, return_counts=True)), strict=True)
        )
        # What came after: task -> suite and family; suite -> tasks; label of a text or a family -> tasks.
        self._new = IntMap[tuple[int, int]]()
        self._more_sizes = IntMap[int]()
        self._more_texts, self._more_members = IntMap[tuple[int, ...]](), IntMap[tuple[int, ...]]()

    @classmethod
    def of(cls, tasks: Sequence[Task]) -> Self:
        """Index the tasks of a ledger, in its order."""
        suites = {suite: i for i, suite in enumerate(dict.fromkeys(_hash(t.suite) for t in tasks))}
        suite = np.array([suites[_hash(t.suite)] for t in tasks], dtype=np.int64)
        near, number = NearTexts.of([t.text for t in tasks], suite.tolist())
        family = [_named(t) if t.family else _near(n) for t, n in zip(tasks, number.tolist(), strict=True)]
        known = [(label, i) for i, t in enumerate(tasks) if (label := text_key(t)) is not None]
        labels, at = zip(*sorted(known), strict=True) if known else ((), ())
        return cls(list(suites), suite, np.array(family, dtype=np.uint64), np.array(labels, dtype=np.uint64), at, near)

    @classmethod
    def empty(cls) -> Self:
        """Make the index of no task."""
        return cls.of([])

    def after(self, task: Task, at: int) -> Self:
        """Return the index that also knows this task, whose place is `at`; itself if it knows it already."""
        if at < len(self._suite) or self._new.get(at) is not None:
            return self
        new, suite = copy(self), _hash(task.suite)
        if suite not in self._suites:
            new._suites = [*self._suites, suite]
        group = new._suites.index(suite)
        new._near, number = self._near.with_text(task.text, group)
        label = _named(task) if task.family else _near(number)
        new._new = self._new.put(at, (group, label))
        new._more_sizes = self._more_sizes.put(group, (self._more_sizes.get(group) or 0) + 1)
        new._more_members = self._more_members.put(label, (*(self._more_members.get(label) or ()), at))
        if (text := text_key(task)) is not None:
            new._more_texts = self._more_texts.put(text, (*(self._more_texts.get(text) or ()), at))
        return new

    def find(self, task: Task, ledger: Ledger) -> Relatives:
        """Find the tasks that are the same as this one, and the others of its family."""
        by_id, suite = ledger.task(task_key(task)), None
        if by_id is not None or task.suite != DEFAULT_SUITE:
            hashed = _hash(task.suite)
            suite = self._suites.index(hashed) if hashed in self._suites else -1
        found = [i for i in self._with_text(text_key(task)) if suite is None or self._of(i)[0] == suite]
        same = list(dict.fromkeys(([] if by_id is None else [by_id]) + found))
        like: list[int] = []
        if suite is None and len({self._of(i)[0] for i in same}) > 1:
            same, like = [], same
        labels = {self._of(i)[1] for i in same}
        if task.family:
            labels.add(_named(task))
        elif not same and not like and task.text:  # of several suites that sound alike, the nearest is meant
            labels |= {_near(number) for number in self._near.find(task.text, suite)[:1]}
        family = [i for label in sorted(labels) for i in self._in_family(label)] + like
        own = set(same)
        others = tuple(dict.fromkeys(i for i in family if i not in own))
        return Relatives(tuple(same), others[:MOST], self._share(others))

    def families(self, tasks: int) -> Ints:
        """Number the families of the first `tasks` tasks, (tasks,): the same number for tasks of one family."""
        labels = [self._of(i)[1] for i in range(len(self._family), tasks)]
        every = np.concatenate([self._family, np.array(labels, dtype=np.uint64)])
        alone = np.arange(len(every), tasks, dtype=np.uint64)  # tasks of a file that has no index
        return np.unique(np.concatenate([every, alone]), return_inverse=True)[1].astype(np.int64)

    def state(self) -> State:
        """Give the labels, and the index of texts."""
        new = sorted(self._new.items())
        texts = [(label, i) for label, tasks in self._more_texts.items() for i in tasks]
        labels = np.concatenate([self._texts, np.array([label for label, _ in texts], dtype=np.uint64)])
        tasks = np.concatenate([self._tasks, np.array([i for _, i in texts], dtype=np.int64)])
        order = np.lexsort((tasks, labels))
        own = State(
            {
                "suites": np.array(self._suites, dtype=np.uint64),
                "suite": np.concatenate([self._suite, np.array([s for _, (s, _) in new], dtype=np.int64)]),
                "family": np.concatenate([self._family, np.array([f for _, (_, f) in new], dtype=np.uint64)]),
                "texts": labels[order], "tasks": tasks[order],
            }
        )  # fmt: skip
        return State.join(own=own, near=self._near.state())

    @classmethod
    def from_state(cls, state: State) -> Self:
        """Restore the index that gave this state."""
        a, near = state.part("own").arrays, NearTexts.from_state(state.part("near"))
        return cls(a["suites"].tolist(), a["suite"], a["family"], a["texts"], a["tasks"], near)

    def _share(self, tasks: Sequence[int]) -> float:
        """Tell which share of its suite a family is, by the suite of its first task."""
        if not tasks:
            return 0.0
        suite = self._of(tasks[0])[0]
        of_suite = self._sizes.get(suite, 0) + (self._more_sizes.get(suite) or 0)
        return min(len(tasks) / max(of_suite, 1), 1.0)

    def _of(self, task: int) -> tuple[int, int]:
        """Give the place of a task's suite and the label of its family."""
        if task < len(self._suite):
            return int(self._suite[task]), int(self._family[task])
        return self._new.get(task) or (-1, _hash("alone", task))

    def _with_text(self, label: int | None) -> list[int]:
        if label is None:
            return []
        return [*_run(self._texts, self._tasks, label), *(self._more_texts.get(label) or ())]

    def _in_family(self, label: int) -> list[int]:
        """List the tasks of a family, the last first."""
        labels, tasks = self._members
        return [*reversed(self._more_members.get(label) or ()), *reversed(_run(labels, tasks, label))]


def families_within(tasks: Sequence[Task]) -> Ints | None:
    """Number the families of one suite's tasks; one that is most of the suite is none. None if every task is alone."""
    family = TaskIndex.of(tasks).families(len(tasks))
    sizes = np.bincount(family, minlength=1)
    alone = np.arange(len(tasks)) + len(sizes)
    numbers = np.unique(np.where(sizes[family] > MOST_OF_SUITE * len(tasks), alone, family), return_inverse=True)[1]
    return None if len(np.unique(numbers)) == len(tasks) else numbers.astype(np.int64)


def _run(labels: Array, values: Array, label: int) -> list[int]:
    """Give the values at a label in sorted labels."""
    at = np.array([label], dtype=np.uint64)
    first, last = int(np.searchsorted(labels, at)[0]), int(np.searchsorted(labels, at, "right")[0])
    found: list[int] = values[first:last].tolist()
    return found


def _named(task: Task) -> int:
    return _hash("family", task.suite, task.family)


def _near(number: int) -> int:
    return _hash("near", number)


def _hash(*parts: object) -> int:
    joined = "\x1f".join(map(str, parts)).encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(joined, digest_size=8).digest())
