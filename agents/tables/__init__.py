"""Tables the project computes itself, and the code that regenerates each."""
