"""Memory: what earlier runs on a task, and on tasks like it, tell about the next run.

    y_qr = pooled_qr + g_qr + noise,   cov(g_qr, g_ps) = T_qp * S_rs

What the pooled model leaves of a run's score is real in part, and comes back at the next run: T says how alike two
tasks are (1 for the same one, `likeness` for two of a family, else 0), S how alike two routes are on one task (the task
is easy or hard for all; it suits a model, a harness, a pair). The noise of a single run stands apart, so that ten runs
tell more than one. Given a task's earlier runs, g has a Gaussian posterior in closed form.

variances.py   how much of what is left is task, model, harness, pair and noise: moments, shrunk to what others show
routes.py      S: those variances, and what the suite shows of single pairs of routes
index.py       which tasks are the same, or of one family
recall.py      the earlier runs of a task -> what they change: means and covariances of a pool
"""
