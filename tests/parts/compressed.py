"""Content compressed by zstd, for tests of files that are read compressed."""

import sys

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd


def zstd_compress(content):
    """Return one frame with a checksum."""
    return zstd.compress(content, options={zstd.CompressionParameter.checksum_flag: 1})
