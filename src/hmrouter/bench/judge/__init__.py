"""Judges methods on test tasks: predictions, choices among routes, and how good both are.

history.py     what other benchmarks say, for methods that listen
predict.py     a fit, and everything that a scorer is asked
choices.py     from predictions to choices, with Random and Oracle
evaluate.py    from choices to metrics
forecasts.py   metrics of probabilities
"""
