"""Tables that ship with the package: names and descriptions."""
