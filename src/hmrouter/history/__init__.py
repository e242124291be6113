"""History: results of other suites as the prior for a suite with few outcomes, or none.

records.py      one route on one suite, as a mean: the rows of history
families.py     which suites share tasks: they are one family, and do not count twice
terms.py        the effects that two (suite, route) points share: model, vendor, harness, release ...
hierarchy.py    the hierarchical model: variances by type-II maximum likelihood, counts by Laplace's method
agreement.py    which suites may speak for others
belief.py       the prior of the routes of one suite that follows
tables.py       tables of results as files, and the folder of a user's own
public.py       the table that ships with the package beside a user's own, and the prior they give
"""

from hmrouter.history.belief import SuiteBelief, learn
from hmrouter.history.records import Record, records_of

__all__ = ["Record", "SuiteBelief", "learn", "records_of"]
