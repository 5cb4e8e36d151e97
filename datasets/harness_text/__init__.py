"""Datasets of text, as term counts: diagnoses, newsgroups, newswire, novels, web pages, patents, laws, requests."""
