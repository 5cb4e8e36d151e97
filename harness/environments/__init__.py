"""Learners that need packages of their own: a Python environment each, over the packages of the running host."""
