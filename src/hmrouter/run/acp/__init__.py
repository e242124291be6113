"""A client of the Agent Client Protocol, as a program of its own: one prompt, one harness, events as lines of JSON.

It runs as a child of the attempt, so that a harness which speaks the protocol is watched and ended as any other is.
"""
