"""Data sets of text, as term counts: what ICD-10-CM calls each diagnosis."""
