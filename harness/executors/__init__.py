"""Executors: run jobs such as trials and loaders of datasets in separate processes, with limits."""
