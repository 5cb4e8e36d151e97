"""Data sets of text, as term counts: diagnosis terms, newsgroups, newswire, and the words of six novels."""
