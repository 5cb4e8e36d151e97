"""Wrappers of other tools, one file each. Only trials import them."""
