"""Compiled code. It takes arrays and knows no estimator."""
