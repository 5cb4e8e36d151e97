"""Lines to text: tables, matrices of wins, published numbers, changes, and the formats they are written in. Pure."""
