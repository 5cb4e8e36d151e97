"""User files: the format is found by extension, parameters and content; third parties can add formats."""

import pytest

from experiments import REPRESENTATIONS
from harness import DatasetSpec
from harness.errors import DataError, SpecError
from internals import Catalog, Entry, Origin, find_file_format, parse_dataset, resolve_dataset
from messages import assert_names, naming

OWN = Origin("mine", "dist", "1.0")


def begins_with_a(path):
    with open(path) as file:
        return file.read(1) == "a"


def begins_with_b(path):
    with open(path) as file:
        return file.read(1) == "b"


@pytest.fixture
def catalog(monkeypatch):
    """Return a catalog with two formats that share an extension, one with its own, one for folders, one derived."""
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
def test_the_extension_decides_and_otherwise_the_content(catalog, file, name, content, format_name):
    assert find_file_format(file(name, content), catalog).spec.name == format_name


def test_parameters_decide_between_formats_of_one_extension(catalog, file):
    assert find_file_format(file("x.one"), catalog, {"deep": 2}).spec.name == "third"
    assert find_file_format("x.one", catalog, {"unheard": 2}).spec.name == "first"


def test_a_folder_is_opened_by_a_folder_format(catalog, tmp_path):
    assert find_file_format(str(tmp_path), catalog).spec.name == "folder"


def test_an_unknown_file_raises_an_error_with_ways_to_name_its_format(catalog, file):
    with pytest.raises(SpecError) as caught:
        find_file_format(file("x.txt", "c"), catalog)
    assert_names(str(caught.value), "name")
    assert_names(str(caught.value), "x.txt")


def test_a_missing_file_raises_an_error_that_names_it(catalog):
    with pytest.raises(DataError, match=naming("nowhere.csv")):
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
def test_an_address_is_read_by_the_dataset_that_claims_its_scheme(catalog, text, name, params):
    found = resolve_dataset(parse_dataset(text), catalog)
    assert (found.entry.spec.name, dict(found.params)) == (name, params)


def test_a_prefix_before_a_colon_may_be_a_distribution(catalog):
    assert resolve_dataset(parse_dataset("dist:plain"), catalog).entry.spec.name == "plain"


def test_a_registered_name_takes_precedence_over_a_file(file):
    named = Entry(DatasetSpec(name="x.one", load="a:b", parameters={}), OWN)
    assert (
        resolve_dataset(parse_dataset(file("x.one")), Catalog(datasets=(named,), representations=REPRESENTATIONS)).entry
        is named
    )


def test_a_derived_dataset_contains_its_source_and_takes_its_representation(catalog, file):
    found = resolve_dataset(parse_dataset(f"part(part({file('x.txt', 'b')}), share=2)"), catalog)
    inside = found.wrapped.wrapped
    assert (found.entry.spec.representation, inside.entry.spec.name) == ("raw", "second")
    assert (found.params["share"], found.wrapped.params["share"], inside.params) == (2, 1, {"path": "x.txt"})


def test_an_unknown_parameter_of_the_source_dataset_is_named(catalog):
    with pytest.raises(SpecError, match=naming("plain", "row", "rows")):
        resolve_dataset(parse_dataset("part(plain(row=1))"), catalog)


def test_a_missing_required_parameter_raises_an_error_that_names_it():
    from internals import REQUIRED

    parameters = {"path": REQUIRED, "dataset": REQUIRED}
    spec = DatasetSpec(name="needy", load="a:b", parameters=parameters, wraps="dataset")
    catalog = Catalog(datasets=(Entry(spec, OWN),))
    with pytest.raises(SpecError, match=naming("path", "--data", "needy(path=VALUE)")):
        resolve_dataset(parse_dataset("needy"), catalog)
    with pytest.raises(SpecError, match=naming("dataset", "--data", "needy(NAME)")):
        resolve_dataset(parse_dataset("needy(path=x)"), catalog)
