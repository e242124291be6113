"""Turn predictions into decisions: the pool, the policy, budgets, how sure the choice is, and its explanation."""
