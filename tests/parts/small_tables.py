"""Tables made from records, and their content."""

from harness import MetricSpec
from internals import Machine, group_records
from internals import make_table as make_table_of_lines

R1 = MetricSpec(name="r1", compute="a:b", title="R1")
TRAIN = MetricSpec(name="train", compute="a:b", direction="lower", unit="seconds", depth=0, timed=True)
INDEX = MetricSpec(name="index", compute="a:b", title="index size", direction="lower", unit="count", depth=0)
SIZE = MetricSpec(name="size", compute="a:b", direction="lower", unit="bytes", depth=0)
MACHINES = {"m1": Machine("m1", "Fast", 8), "m2": Machine("m2", "Slow", 2)}


def make_table(records, columns, test="sign", **options):
    """Make a table, by default with the sign test, which judges constant values too."""
    return make_table_of_lines(group_records(records), columns, test=test, **options)


def rows_of(table):
    return {(group.title, row.title): row for group in table.groups for row in group.rows}


def titles(table):
    return [(group.title, [row.title for row in group.rows]) for group in table.groups]


def foot_of(table):
    return "\n".join(table.footnotes)
