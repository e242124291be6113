"""Run harnesses: one driver per harness, processes that always end, and what is installed here.

drivers/     how each harness is started and how its output is read; `base` is the contract
process.py   one child process with a wall clock, a limited output folder, and no child left behind
attempt.py   one harness on one prompt, from the command to a `HarnessResult`
doctor.py    which harnesses, keys and models are here, and what is missing
"""
