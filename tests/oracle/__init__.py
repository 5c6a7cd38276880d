"""The rules of cribbage a second time, in plain Python: what the engine is checked against."""
