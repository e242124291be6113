"""What other suites say about routes: the prior for a suite with few outcomes, or none.

records.py      one route on one suite, as a mean: what history is made of
families.py     which suites share tasks: they are one family, and do not count twice
terms.py        what two (suite, route) points have in common: model, vendor, harness, release ...
hierarchy.py    the hierarchical model: variances by type-II maximum likelihood, counts by Laplace's method
agreement.py    which suites may speak for others
belief.py       what it says about the routes of one suite
public.py       the table of public results that ships with the package, and a user's own
"""

from hmrouter.history.belief import SuiteBelief, learn
from hmrouter.history.records import Record, records_of

__all__ = ["Record", "SuiteBelief", "learn", "records_of"]
