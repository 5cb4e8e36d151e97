"""Support vector machines: one against the rest, Crammer and Singer's, hierarchical, top-down."""
