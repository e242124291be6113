"""Run harnesses: from a task to a verified result.

drivers/         how each harness is started and how its output is read; `base` is the contract
process.py       one child process with a wall clock, a limited output folder, and no child left behind
attempt.py       one harness on one prompt, from the command to a `HarnessResult`
doctor.py        which harnesses, keys and models are here, and what is missing; `runnable` makes a pool of it
trees/           checkouts, changes, verification, delivery
task_runner.py   one task: attempts along a plan (`planning`) until one passes, each learned from (`results`)
batch.py         many tasks with a ledger; `spending` is their budget, `comparison` what they came to
work_folder.py   where all of it is kept; `cleanup` removes what killed runs left
permission.py    whether harnesses may act without asking
"""
