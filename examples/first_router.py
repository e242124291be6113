"""From a handful of runs to a decision and back: the whole loop on one page.

    python examples/first_router.py

It writes `first.db` and `first.hmr` into the current folder.
"""

from hmrouter import Outcome, OutcomeStore, Route, Router, Task

CLAUDE_CODE = Route("claude-opus-4-5", "claude-code")
CODEX = Route("gpt-5", "codex")

# What you ran and what came of it. Scores are 0 to 1; a cost is welcome, not required.
runs = [
    ("Fix the failing unit test in the parser", CLAUDE_CODE, 1.0, 0.84),
    ("Fix the failing unit test in the parser", CODEX, 1.0, 0.31),
    ("Rename the module and fix all imports", CLAUDE_CODE, 1.0, 0.77),
    ("Rename the module and fix all imports", CODEX, 0.0, 0.35),
    ("Plot monthly sales with error bars", CLAUDE_CODE, 1.0, 0.52),
    ("Plot monthly sales with error bars", CODEX, 1.0, 0.22),
    ("Summarise the incident report", CODEX, 0.0, 0.12),
]


def main() -> None:
    """Store, learn, decide, observe, save, load."""
    outcomes = [Outcome(Task.of_text(text), route, score, cost=cost) for text, route, score, cost in runs]
    with OutcomeStore("sqlite:///first.db") as store:
        report = store.add(outcomes)
        print(f"{report.new} new outcomes, {report.known} known already")
        router = Router().fit_store(store)  # as `hmrouter train` does

        # A pool may hold pairs that were never run: here each model in each harness. The default scorer is careful with
        # them: they come first only if they are probably better than what was run.
        pool = [Route(m, h) for m in ("claude-opus-4-5", "gpt-5") for h in ("claude-code", "codex")]
        decision = router.route("Fix the flaky test of the importer", pool=pool, max_cost=1.0)
        for candidate in decision.ranked:
            runs_of = f"{candidate.evidence.pair} runs" if candidate.observed else "never run"
            print(f"{candidate.route!s:32} success {candidate.success:.0%}  ${candidate.cost:.2f}  {runs_of}")

        # ... you run the task on decision.route, and tell how it went:
        outcome = decision.outcome(score=1, cost=0.6)
        router.observe(outcome)  # the router learns at once, without a refit
        store.add([outcome])  # and the next training will know it, too

    router.save("first.hmr")
    again = Router.load("first.hmr").route("Fix the flaky test of the importer", pool=pool, max_cost=1.0)
    print(f"now {again.route} with {again.evidence.pair} runs behind it")


if __name__ == "__main__":
    main()
