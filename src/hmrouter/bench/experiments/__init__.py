"""The experiments of hm-router-bench, one file each."""

from hmrouter.plugins import Registry

EXPERIMENTS = Registry(
    "experiment",
    "hmrouter.experiments",
    {
        "cost": "hmrouter.bench.experiments.cost:Cost",
        "forecast": "hmrouter.bench.experiments.forecast:Forecast",
        "routing": "hmrouter.bench.experiments.routing:Routing",
        "sparse": "hmrouter.bench.experiments.sparse:Sparse",
    },
)
