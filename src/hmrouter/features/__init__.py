"""Texts -> vectors: embedders, their cache, and descriptions of harnesses."""
