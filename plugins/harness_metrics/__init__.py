"""Metrics of one trial: how well the learner ranks, and what it costs. Each is a pure function of an `Outcome`."""
