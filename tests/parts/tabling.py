"""Tables made of records in tests, and what stands in them."""

from harness import MetricSpec
from harness.groups import group_records
from harness.machine import Machine
from harness.tables import table as tables

R1 = MetricSpec(name="r1", compute="a:b", title="R1")
TRAIN = MetricSpec(name="train", compute="a:b", direction="lower", unit="seconds", depth=0, timed=True)
INDEX = MetricSpec(name="index", compute="a:b", title="|I|", direction="lower", unit="count", depth=0)
SIZE = MetricSpec(name="size", compute="a:b", direction="lower", unit="bytes", depth=0)
MACHINES = {"m1": Machine("m1", "Fast", 8), "m2": Machine("m2", "Slow", 2)}


def make_table(records, columns, **options):
    return tables.make_table(group_records(records), columns, **options)


def rows_of(table):
    return {(group.title, row.title): row for group in table.groups for row in group.rows}


def titles(table):
    return [(group.title, [row.title for row in group.rows]) for group in table.groups]


def foot_of(table):
    return "\n".join(table.foot)
