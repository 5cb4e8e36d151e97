"""Datasets of texts as term counts: diagnoses, newsgroups, newswire, novels, web pages, patents, laws, requests."""
