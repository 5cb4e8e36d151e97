"""Running experiments: trials, limits, progress, suggestions, and reproductions of papers."""
