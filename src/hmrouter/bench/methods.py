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

ABOUT = {
    "avengers": "ranks routes within clusters of tasks, by their means there",
    "avengers_pro": "the same, weighing success against cost",
    "component_average": "the mean of a route's model and of its harness",
    "component_only": "hm without what a model and a harness are together",
    "embedllm": "a matrix factorisation of outcomes over task vectors",
    "fixed": "the best single route in training, for every task",
    "hm": "the paper's scorer: model, harness and their interaction, per task",
    "irtnet": "item response theory with a mixture of experts",
    "knn": "the mean of a route on the nearest tasks",
    "mirt": "multidimensional item response theory",
    "oracle": "knows every outcome; no method can do better",
    "random": "any route, each as likely",
    "safe": "the default: pooled, calibrated, informed by other suites",
    "safe_alone": "safe without what other suites say",
}
"""What each built-in method is, in a few words."""


def about_methods() -> dict[str, str]:
    """Say in a line what each method is; plug-ins in their own words."""
    names = [*METHODS.names(), *(r for r in REFERENCES if r not in METHODS.names())]
    return {name: ABOUT[name] if name in ABOUT else METHODS.about(name) for name in names}
