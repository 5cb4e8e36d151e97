"""The user's own files as data sets: tables, sparse text formats, folders of texts, arrays."""
