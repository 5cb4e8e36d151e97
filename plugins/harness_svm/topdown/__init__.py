"""One choice at each node of a class tree."""
