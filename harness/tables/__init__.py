"""Records to text: lines, tables, contests and comparisons, and how they are written. Pure."""
