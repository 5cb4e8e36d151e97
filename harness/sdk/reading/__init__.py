"""What the loaders of data sets share: raw files found and unpacked, texts and sparse lines turned into rows."""
