"""Everything that `--methods` may name: the product's scorers, plug-ins, and the research baselines."""

from hmrouter.plugins import Registry
from hmrouter.scorers.base import SCORERS

REFERENCES = ("random", "oracle")
"""Computed from the test outcomes, not fitted: the expectation of a uniform choice, and the best outcome per task."""

METHODS: Registry = SCORERS.extended(
    "method",
    {
        "avengers": "hmrouter.bench.baselines.avengers:Avengers",
        "avengers_pro": "hmrouter.bench.baselines.avengers_pro:AvengersPro",
        "embedllm": "hmrouter.bench.baselines.embedllm:EmbedLLM",
        "irtnet": "hmrouter.bench.baselines.irtnet:IrtNet",
        "mirt": "hmrouter.bench.baselines.mirt:MIRT",
    },
)
