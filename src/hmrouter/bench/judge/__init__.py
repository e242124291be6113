"""How good choices and forecasts are on test tasks."""
