"""The experiments of hm-router-bench by name: a file, or a folder with `experiment.py`, `report.py` and helpers.

base.py        the contract: units, requests, experiments; quick.py cuts a run down
path.py        from a unit to its rows, for all of them
summaries.py   means, differences and intervals of rows, for all reports
"""

from hmrouter.plugins import Registry

EXPERIMENTS = Registry(
    "experiment",
    "hmrouter.experiments",
    {
        "cost": "hmrouter.bench.experiments.cost:CostTradeoff",
        "fewshot": "hmrouter.bench.experiments.fewshot:FewShot",
        "forecast": "hmrouter.bench.experiments.forecast:Forecast",
        "heldout": "hmrouter.bench.experiments.heldout:HeldOut",
        "interaction": "hmrouter.bench.experiments.interaction:Interaction",
        "mixed": "hmrouter.bench.experiments.mixed:Mixed",
        "overhead": "hmrouter.bench.experiments.overhead:Overhead",
        "plan": "hmrouter.bench.experiments.plan:Plans",
        "probe": "hmrouter.bench.experiments.probe:Probe",
        "recurring": "hmrouter.bench.experiments.recurring:Recurring",
        "representations": "hmrouter.bench.experiments.representations:Representations",
        "routing": "hmrouter.bench.experiments.routing:Routing",
        "sparse": "hmrouter.bench.experiments.sparse:Sparse",
        "transfer": "hmrouter.bench.experiments.transfer:Transfer",
        "unseen": "hmrouter.bench.experiments.unseen:Unseen",
    },
)

PAPER_ORDER = (
    "transfer", "routing", "cost", "unseen", "fewshot", "heldout", "forecast", "representations", "interaction",
    "overhead", "sparse", "recurring", "mixed", "plan", "probe",
)  # fmt: skip
"""As the paper shows them, ours last."""


def every_experiment() -> list[str]:
    """All experiments in the order of a report on all of them; plug-ins come last.

    >>> every_experiment()[:2]
    ['transfer', 'routing']
    """
    names = EXPERIMENTS.names()
    return [n for n in PAPER_ORDER if n in names] + [n for n in names if n not in PAPER_ORDER]
