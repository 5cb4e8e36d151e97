"""Records -> lines, the only grouping there is: tables, figures and tests all start from these. Pure."""

from harness.groups.grouping import flat_first, group_records, has_several_representations
from harness.groups.line import Line, Prepared
from harness.groups.notices import notices_of
from harness.groups.rivals import held_out_ratio, pair_values, rank_learners, rivals_by_data, shared_seeds
from harness.groups.set_ups import SetUp, title_set_ups

__all__ = [
    "Line",
    "Prepared",
    "SetUp",
    "flat_first",
    "group_records",
    "has_several_representations",
    "held_out_ratio",
    "notices_of",
    "pair_values",
    "rank_learners",
    "rivals_by_data",
    "shared_seeds",
    "title_set_ups",
]
