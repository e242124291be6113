"""The parts of `features.near_texts`: what a template leaves of a text, sketches of it, and families."""
