"""The kinds of files that figures are drawn into, by their ending: the only list of them. Imports nothing."""

FILE_FORMATS: dict[str, dict[str, None]] = {
    "png": {},
    "svg": {"Date": None},
    "pdf": {"CreationDate": None, "ModDate": None},
}
"""Each with the facts that are left out of it: the same records give the same file."""
