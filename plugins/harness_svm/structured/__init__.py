"""One problem for all classes, flat (Crammer and Singer) or along a class tree (HSVM)."""
