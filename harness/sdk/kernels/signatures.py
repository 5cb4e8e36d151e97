"""The types of what most kernels take: instances, and their labels."""

from __future__ import annotations

from numba import float32, int32, int64

from harness.sdk.kernels.compiling import named, reads
from harness.sdk.kernels.instances import Instances, Labels

INSTANCES = named(Instances, reads(int64), reads(int32), reads(float32))
LABELS = named(Labels, reads(int64), reads(int32))
