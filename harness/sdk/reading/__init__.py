"""What the loaders of data sets share: raw files found and unpacked, texts and sparse lines turned into rows.

It stands beside the contract for plugins to build on, as `online` does for learners.
"""
