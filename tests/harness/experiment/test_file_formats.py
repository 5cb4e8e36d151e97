"""Files of the user's: the data set that opens one is found by ending, parameters, content; third parties join in."""

import pytest

from experiments import REPRESENTATIONS
from harness.catalog import Catalog, Entry, Origin
from harness.contract import DatasetSpec
from harness.errors import DataError, SpecError
from harness.experiment.dataset_ref import parse_dataset
from harness.experiment.file_formats import find_file_format
from harness.experiment.resolve import resolve_dataset

OWN = Origin("mine", "dist", "1.0")


def begins_with_a(path):
    with open(path) as file:
        return file.read(1) == "a"


def begins_with_b(path):
    with open(path) as file:
        return file.read(1) == "b"


@pytest.fixture
def catalog(monkeypatch):
    """Two formats that share an ending, one that has its own, one for folders, one made from another."""
    import sys
    import types

    module = types.ModuleType("formats_of_a_test")
    module.begins_with_a, module.begins_with_b = begins_with_a, begins_with_b
    monkeypatch.setitem(sys.modules, "formats_of_a_test", module)

    def spec(name, parameters=None, **fields):
        return Entry(DatasetSpec(name=name, load="a:b", parameters=parameters or {"path": ""}, **fields), OWN)

    return Catalog(
        datasets=(
            spec("first", opens=(".txt", ".one"), recognises="formats_of_a_test:begins_with_a"),
            spec("second", opens=(".txt",), recognises="formats_of_a_test:begins_with_b", representation="raw"),
            spec("folder", opens=("/",)),
            spec("third", {"path": "", "deep": 1}, opens=(".one",)),
            spec("net", {"path": "", "wide": 1}, opens=("net:",)),
            spec("net-deep", {"path": "", "deep": 1}, opens=("net:",), representation="raw"),
            spec("plain", {"rows": 3}),
            spec("part", {"dataset": None, "share": 1}, wraps="dataset"),
        ),
        representations=REPRESENTATIONS,
    )


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def write(name, content="x"):
        (tmp_path / name).write_text(content)
        return name

    return write


@pytest.mark.parametrize(
    ("name", "content", "format_name"),
    [
        ("x.one", "?", "first"),
        ("x.ONE.GZ", "?", "first"),
        ("x.txt", "a", "first"),
        ("x.txt", "b", "second"),
        ("x.unheard", "b", "second"),
    ],
)
def test_the_ending_decides_and_else_the_content(catalog, file, name, content, format_name):
    assert find_file_format(file(name, content), catalog).spec.name == format_name


def test_where_several_open_an_ending_the_parameters_decide(catalog, file):
    assert find_file_format(file("x.one"), catalog, {"deep": 2}).spec.name == "third"
    assert find_file_format("x.one", catalog, {"unheard": 2}).spec.name == "first"


def test_a_folder_is_opened_by_what_opens_folders(catalog, tmp_path):
    assert find_file_format(str(tmp_path), catalog).spec.name == "folder"


def test_a_file_that_nobody_knows_is_named_with_ways_to_say_what_it_is(catalog, file):
    with pytest.raises(SpecError) as caught:
        find_file_format(file("x.txt", "c"), catalog)
    assert "no format that is known by its name or content" in str(caught.value)
    assert "\"first(path='x.txt')\" or \"second(path='x.txt')\"" in str(caught.value)


def test_a_file_that_is_not_there_is_named(catalog):
    with pytest.raises(DataError, match=r"'nowhere.csv': there is no such file or folder \(nor a data set"):
        find_file_format("nowhere.csv", catalog)


# -- looking up ------------------------------------------------------------------------------------------------------


def test_a_file_becomes_its_format_with_the_path(catalog, file):
    found = resolve_dataset(parse_dataset(file("x.one")), catalog)
    assert (found.name, found.entry.spec.name, dict(found.params)) == ("x", "first", {"path": "x.one"})
    assert found.ref.params == {"path": "x.one"}


@pytest.mark.parametrize(
    ("text", "name", "params"),
    [
        ("net:a/b", "net", {"path": "a/b", "wide": 1}),
        ("net:7", "net", {"path": "7", "wide": 1}),
        ("net:a.b/c.d(deep=2)", "net-deep", {"path": "a.b/c.d", "deep": 2}),
    ],
)
def test_an_address_is_read_by_whoever_says_so_and_takes_the_parameters(catalog, text, name, params):
    found = resolve_dataset(parse_dataset(text), catalog)
    assert (found.entry.spec.name, dict(found.params)) == (name, params)


def test_what_stands_before_a_colon_may_still_be_a_distribution(catalog):
    assert resolve_dataset(parse_dataset("dist:plain"), catalog).entry.spec.name == "plain"


def test_a_registered_name_wins_over_a_file(file):
    named = Entry(DatasetSpec(name="x.one", load="a:b", parameters={}), OWN)
    assert (
        resolve_dataset(parse_dataset(file("x.one")), Catalog(datasets=(named,), representations=REPRESENTATIONS)).entry
        is named
    )


def test_a_data_set_made_from_another_holds_it_and_takes_its_representation(catalog, file):
    found = resolve_dataset(parse_dataset(f"part(part({file('x.txt', 'b')}), share=2)"), catalog)
    inside = found.wrapped.wrapped
    assert (found.entry.spec.representation, inside.entry.spec.name) == ("raw", "second")
    assert (found.params["share"], found.wrapped.params["share"], inside.params) == (2, 1, {"path": "x.txt"})


def test_an_unknown_parameter_of_the_data_set_inside_is_named(catalog):
    with pytest.raises(SpecError, match="data set 'plain' has no parameter 'row'; did you mean rows"):
        resolve_dataset(parse_dataset("part(plain(row=1))"), catalog)


def test_a_parameter_that_must_be_given_is_asked_for():
    from harness.signature import REQUIRED

    parameters = {"path": REQUIRED, "dataset": REQUIRED}
    spec = DatasetSpec(name="needy", load="a:b", parameters=parameters, wraps="dataset")
    catalog = Catalog(datasets=(Entry(spec, OWN),))
    with pytest.raises(SpecError, match=r'needs a value for \'path\', as in --data "needy\(path=VALUE\)"'):
        resolve_dataset(parse_dataset("needy"), catalog)
    with pytest.raises(SpecError, match=r'needs a value for \'dataset\', as in --data "needy\(NAME\)"'):
        resolve_dataset(parse_dataset("needy(path=x)"), catalog)
