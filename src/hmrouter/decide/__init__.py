"""From what a scorer says to a decision: the pool, the policy, budgets, how sure the choice is, and its explanation."""
