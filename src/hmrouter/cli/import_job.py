"""Import logs into the store, one by one, for `hmrouter import`."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from hmrouter.cli.error_words import in_words
from hmrouter.cli.import_summary import LogReport, Tally
from hmrouter.cli.output import progress
from hmrouter.cli.refused_rows import RefusedRows
from hmrouter.errors import HMRouterError, InputError, MissingExtra
from hmrouter.features.base import Embedder
from hmrouter.features.cache import embed_cached
from hmrouter.logs import Log, Notes, Refusals, Request, find_logs
from hmrouter.logs.base import shown
from hmrouter.names.prices import with_token_cost
from hmrouter.store import Import, OutcomeStore
from hmrouter.types import text_hash

EMBEDDED_AT_A_TIME = 512
"""Texts that the embedder is given at a time."""
REMEMBERED = 50_000
"""Texts whose vectors are not asked for again while a log is read."""


@dataclass(frozen=True, slots=True)
class Manner:
    """How a command imports its logs."""

    dry_run: bool = False
    skip_bad: bool = False
    keep_text: bool = True
    replace: bool = False
    """Outcomes known with other values take those of the log."""
    names_given: bool = False
    """The names are a person's: they hold for what is stored, too."""


@dataclass
class ImportJob:
    """Imports every log of one command, with the same settings."""

    kept: OutcomeStore
    rows: RefusedRows
    request: Request
    manner: Manner
    of: Import | None
    """What the store calls the command, to undo it as a whole."""
    embedder: Embedder | None

    def run(self, path: Path, format: str) -> Generator[LogReport, None, None]:
        """Import the logs at a path, each on its own: one that is refused does not undo the others."""
        with closing(find_logs(path, format, self.request.notes, self.request.mapping)) as found:
            while True:
                try:
                    part = next(found, None)
                except (InputError, MissingExtra) as error:  # a path that is not there, or holds nothing that is known
                    yield LogReport(shown(path), format, Tally(), Refusals(), error=_told(shown(path), error))
                    return
                if part is None:
                    return
                yield self._part(part)

    def _part(self, part: Log) -> LogReport:
        how = self.manner
        refusals = Refusals(skip=how.skip_bad, keep=self.rows.add, words=in_words)
        log = LogReport(part.name, part.reader.name, Tally(), refusals)
        request = replace(self.request, refusals=refusals)
        try:
            outcomes = log.tally.watch(map(with_token_cost, part.read(request)))
            with self.rows.of_one_log(), progress(f"importing {part.name}", "outcomes") as show:
                log.added = self.kept.add(
                    outcomes, _counter(show), dry_run=how.dry_run, keep_text=how.keep_text, replace=how.replace,
                    names_given=how.names_given, of=self.of,
                )  # fmt: skip
        except (InputError, MissingExtra) as error:
            log.error = _told(part.name, error)
            return log
        if self.embedder is not None and not how.dry_run:
            _keep_vectors(part, request, self.embedder, self.kept)
        return log


def _keep_vectors(part: Log, request: Request, embedder: Embedder, kept: OutcomeStore) -> None:
    """Read the log once more, now that it is known to be whole, and cache the vectors of its texts."""
    again = replace(request, notes=Notes(), refusals=Refusals(skip=True))
    texts, done = _distinct_texts(part, again), 0
    with progress(f"embedding {part.name}", "texts") as show:
        while some := list(islice(texts, EMBEDDED_AT_A_TIME)):
            embed_cached(embedder, some, kept)
            done += len(some)
            show(done, None)


def _distinct_texts(part: Log, request: Request) -> Iterator[str]:
    seen: set[str] = set()
    for outcome in part.read(request):
        text = outcome.task.text
        if text and (key := text_hash(text)) not in seen:
            if len(seen) >= REMEMBERED:
                seen.clear()  # forgetting only costs a second look into the cache
            seen.add(key)
            yield text


def _counter(show: Callable[[int, int | None], None]) -> Callable[[int], None]:
    """Turn a progress bar that takes totals into one that takes the size of each batch."""
    total = 0

    def count(n: int) -> None:
        nonlocal total
        total += n
        show(total, None)

    return count


def _told(path: str, error: HMRouterError) -> str:
    """Say an error on one line that names its log."""
    text = " ".join(in_words(error).split())
    return text if path in text else f"{path}: {text}"
