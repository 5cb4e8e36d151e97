"""Compiled training and deciding that only the learner of this plugin uses. They know arrays, no estimator."""
