"""Tables of lines: comparisons, matrices of wins, published numbers and changes, with their output formats."""
