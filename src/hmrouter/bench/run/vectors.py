"""Makes vectors before the work begins: workers that start together would all ask for the same texts."""

from __future__ import annotations

from collections.abc import Sequence

from hmrouter.bench.experiments.base import Unit
from hmrouter.bench.methods import REFERENCES
from hmrouter.bench.run.work import Requests
from hmrouter.features.base import embedder_named
from hmrouter.features.cache import embed_cached
from hmrouter.features.descriptions import HarnessDescriptions
from hmrouter.store import OutcomeStore


def keep_vectors(units: Sequence[Unit], requests: Requests) -> None:
    """Embed the texts of these units' benchmarks, if vectors are worth keeping and the request says where.

    An endpoint that does not answer ends the run here, with one error instead of one per unit; what it answered
    before is kept.
    """
    descriptions = HarnessDescriptions()
    for name, request in requests.items():
        wanted = {u.benchmark for u in units if u.experiment == name and u.method not in REFERENCES}
        if not (wanted and request.vectors and (embedder := embedder_named(request.embedder)).cacheable):
            continue
        with OutcomeStore(request.vectors) as store:
            for data in (b.data() for b in request.benchmarks if b.name in wanted):
                texts = [*(t.text for t in data.tasks), *(descriptions.text(h) for h in data.harnesses)]
                embed_cached(embedder, texts, store)
