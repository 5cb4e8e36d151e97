"""Experiments of the papers, ready to run: an experiment file for each."""
