"""Compiled updates and rankings that only the learners of this plugin use. They know arrays, no estimator."""
