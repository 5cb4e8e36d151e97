"""Labels: what things go by in tables, and the family that those of one grid share."""

from harness.label import Label, grid_label, plain_label, written


def test_a_label_is_its_text():
    assert str(Label("pa(C=1)", "pa")) == "pa(C=1)"
    assert f"{plain_label('pa')}" == "pa"


def test_what_is_in_no_grid_is_its_own_family():
    assert plain_label("pa") == Label("pa", "pa")


def test_a_point_of_a_grid_is_named_by_what_was_chosen_and_shares_its_family():
    assert grid_label("pa", {"C": 0.1, "step": "exact"}) == Label("pa(C=0.1, step=exact)", "pa")
    assert grid_label("committee(pa)", {"members": 2}) == Label("committee(pa)(members=2)", "committee(pa)")


def test_where_nothing_was_chosen_the_label_is_that_of_the_whole():
    assert grid_label("pa", {}) == plain_label("pa")


def test_labels_of_one_grid_differ_and_are_found_by_value():
    assert len({grid_label("pa", {"C": value}) for value in (1, 2, 1)}) == 2


def test_what_has_no_name_is_written_first():
    assert written("part", {"share": 2}, "digits") == "part(digits, share=2)"
    assert written("part", {}, "digits") == "part(digits)"
