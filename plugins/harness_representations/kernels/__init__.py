"""Compiled code of the representations."""
