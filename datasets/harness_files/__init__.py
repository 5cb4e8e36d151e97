"""The user's own files as datasets: tables, sparse text formats, folders of texts, arrays."""
