"""Router: fit on outcomes, route tasks, observe what came of it, save and load."""

from hmrouter.router.router import Router

__all__ = ["Router"]
