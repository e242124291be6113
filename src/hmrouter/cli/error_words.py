"""Say errors, and why routes were left out, in the words of the command line: its options and commands."""

from __future__ import annotations

from collections.abc import Mapping

from hmrouter.errors import HMRouterError

ADVICE: Mapping[str, str] = {
    "add_outcomes": "import some with: hmrouter import PATH",
    "allow_bypass": "choose another harness, or allow it for this workspace with: hmrouter run --unattended "
    "'harnesses may run any command in this workspace without asking me'",
    "benchmark_directory": "--data takes a benchmark directory or a folder of them, as made from a store by: "
    "hmrouter store export DIR --format benchmark",
    "benchmark_files": "or let the store write both files: hmrouter store export DIR --format benchmark",
    "choose_another": "choose another with {argument}",
    "commit_or_branch": "commit them, or have the result as a branch with --branch NAME",
    "count_runs": "say how many with --runs, or import outcomes with costs",
    "decision_document": "give what `hmrouter route --json` printed",
    "fewer_attempts": "give a better one, or use a single attempt: hmrouter route",
    "fit_again": "use the hmrouter version that wrote it, or train again with: hmrouter train",
    "forget_instead": "forget a run instead: hmrouter store forget RUN, as hmrouter store status shows it",
    "harbor_tasks": "name the folder that holds the tasks with --tasks, or the data set with --dataset NAME@VERSION",
    "limit_runs": "give --budget DOLLARS, --runs N, or both",
    "make_router": "make one with: hmrouter train --out {path}",
    "make_store": "make it with: hmrouter import PATH --store {store}",
    "map_and_name": "try --map '{mapping}', and say the {named} of all rows with an option",
    "map_columns": "try --map '{mapping}'",
    "mend_orders": "mend or remove it, or name another file with --orders",
    "mend_table": "mend {file}, or: hmrouter history remove {name}",
    "name_pairs": "name one with --pair or --new-model",
    "name_route": "give --model NAME and --harness NAME, or --pattern with a regular expression that finds "
    "(?P<model>...) and (?P<harness>...) in that name",
    "name_tasks": "import outcomes of the suite, or name its tasks with --tasks",
    "newer_version": "upgrade it with: pip install --upgrade hmrouter",
    "other_orders": "name a file with --orders",
    "refused_elsewhere": "make room and run it again, which adds nothing twice, or name another file with --refused",
    "router_file": "give a router file, made with: hmrouter train",
    "score_key": "choose one with --map score={scorer}.KEY",
    "score_name": "choose with --map score=NAME",
    "skip_bad": "--skip-bad imports the rest",
    "work_folder": "give another folder with --work DIR",
    "widen_pool": "give at least one pair, for example with --pool",
}
"""Advice by hint, instead of that in `hmrouter.errors`, where a command or an option says it better."""

OPTIONS: Mapping[str, str] = {"attempts": "--k", "expire_days": "--expire"}
"""Options whose name is not that of their argument."""

REASONS: Mapping[str, str] = {"over max_cost": "over --max-cost"}
"""Reasons for leaving out routes, where an option is the reason."""


def in_words(error: HMRouterError) -> str:
    """Say an error in the words of the command line.

    >>> from hmrouter.errors import NoRoute, UsageError
    >>> in_words(UsageError("is not a finite number of at least 0", argument="max_cost", value=-1.0))
    '--max-cost -1.0 is not a finite number of at least 0'
    >>> in_words(NoRoute("the pool is empty", hint="widen_pool"))
    'the pool is empty; give at least one pair, for example with --pool'
    """
    return error.sentence(as_option, ADVICE)


def as_option(argument: str) -> str:
    """Return the option that an argument comes from.

    >>> as_option("budget_per_task"), as_option("attempts")
    ('--budget-per-task', '--k')
    """
    return OPTIONS.get(argument, f"--{argument.replace('_', '-')}")
