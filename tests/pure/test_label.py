"""Labels in tables, and the family shared by the labels of a grid."""

from internals import Label, grid_label, plain_label, written


def test_a_label_is_its_text():
    assert str(Label("pa(C=1)", "pa")) == "pa(C=1)"
    assert f"{plain_label('pa')}" == "pa"


def test_a_label_outside_a_grid_is_its_own_family():
    assert plain_label("pa") == Label("pa", "pa")


def test_a_grid_point_is_labelled_by_its_values_and_shares_its_family():
    assert grid_label("pa", {"C": 0.1, "step": "exact"}) == Label("pa(C=0.1, step=exact)", "pa")
    assert grid_label("committee(pa)", {"members": 2}) == Label("committee(pa)(members=2)", "committee(pa)")


def test_without_chosen_values_the_label_is_the_name():
    assert grid_label("pa", {}) == plain_label("pa")


def test_labels_of_one_grid_are_distinct_and_found_by_value():
    assert len({grid_label("pa", {"C": value}) for value in (1, 2, 1)}) == 2


def test_the_positional_argument_is_written_first():
    assert written("part", {"share": 2}, "digits") == "part(digits, share=2)"
    assert written("part", {}, "digits") == "part(digits)"
