"""Probes: which executions to buy next, when to stop, and who gets the list.

posterior.py    the joint Gaussian over routes with task effects: exact, and cheap for many tasks
curves.py       what each task tells about a new route, from how other routes did on it
aims.py         what is asked: the best pair, the frontier; `curves` asks for certain pairs
select.py       from an aim to a batch
standing.py     who leads, how sure that is, what the next batch is worth
batch.py        what comes out: goals, suggestions, batches
prober.py       all of it put together
orders.py       what was suggested and what has come back
handover.py     a batch as CSV, JSON Lines and Harbor job files
"""

from hmrouter.probe.batch import Batch, ProbeGoal, Suggestion
from hmrouter.probe.prober import Prober

__all__ = ["Batch", "ProbeGoal", "Prober", "Suggestion"]
