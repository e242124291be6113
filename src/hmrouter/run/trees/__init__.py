"""Checkouts of a repository: made ready, changed by an attempt, verified, and what passed delivered.

git.py         commands of git, with errors of one line
repository.py  a repository: its state, work trees beside it, diffs and branches
checkout.py    checkouts that are ready to work in
in_tree.py     where an attempt works: in a checkout of its own, or in the user's tree
command.py     commands of the user, run by a shell in a checkout
sandbox.py     what may be put around them
protected.py   which files decide whether an attempt passes
verify.py      the verdict on a diff, in a clean checkout
baseline.py    the verdict on the base, before any money is spent
deliver.py     the changes that passed, into the tree or as a branch
"""
