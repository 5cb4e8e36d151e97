"""Virtual environments for learners that need other packages than the harness itself."""
