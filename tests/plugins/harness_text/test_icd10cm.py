"""ICD-10-CM: contents, taxonomy, and errors for unreadable files."""

import subprocess
import sys
from importlib import metadata

import numpy as np
import pytest

from harness.errors import DataError
from harness_text import icd10cm
from harness_text.plugin import harness_datasets
from messages import assert_names, naming
from word_counts import counts_of

WELL_FORMED = """<ICD10CM.tabular>
  <chapter><name>1</name><desc>Infections</desc>
    <section id="A00-A99"><desc>All of A</desc></section>
    <section id="A00-A09"><desc>Intestinal</desc>
      <diag><name>A00</name><desc>Cholera</desc>
        <excludes1><note>not this one</note></excludes1>
        <diag><name>A00.0</name><desc>Cholera, classical</desc>
          <inclusionTerm><note>Classical cholera</note><note>Old cholera</note></inclusionTerm>
          <diag><name>A00.01</name><desc>Deepest</desc></diag>
        </diag>
      </diag>
      <diag><name>A01</name><desc>Typhoid</desc></diag>
    </section>
  </chapter>
</ICD10CM.tabular>"""


@pytest.fixture(scope="module")
def dataset():
    return icd10cm.load_icd10cm()


@pytest.fixture
def write(tmp_path):
    def write(text):
        path = tmp_path / "tabular.xml"
        path.write_text(text, encoding="utf-8")
        return path

    return write


def test_the_counts_match_release_1_5_0(dataset):
    assert counts_of(dataset).shape == (59_450, 11_446)
    assert dataset.y.shape == (59_450,)
    assert len(dataset.class_names) == 1_918
    assert len(dataset.taxonomy.parent) == 1 + 22 + 285 + 1_918
    assert dataset.found == (
        "59,450 terms, 1,918 classes, 285 of 297 sections, 22 chapters; "
        f"simple-icd-10-cm {metadata.version('simple-icd-10-cm')}, icd10c-tabular-April-1-2026.xml"
    )


def test_another_release_raises_an_error_with_both_versions(write, monkeypatch):
    path = write(WELL_FORMED)
    monkeypatch.setattr(icd10cm, "locate", lambda: path)
    monkeypatch.setattr(metadata, "version", lambda name: "1.2.0")
    with pytest.raises(DataError) as caught:
        icd10cm.load_icd10cm()
    assert "installed simple-icd-10-cm 1.2.0 contains other data" in str(caught.value)
    assert "expected the data of release 1.5.0" in str(caught.value)
    assert "simple-icd-10-cm==1.5.0" in str(caught.value)


@pytest.mark.parametrize(
    ("old", "new"),
    [("Cholera, classical", "Cholera, classic"), ("A01", "A02"), ("Intestinal", "Bowels"), ("Infections", "Infection")],
)
def test_any_change_of_a_term_class_or_node_changes_the_fingerprint(write, old, new):
    before = icd10cm.fingerprint_of(icd10cm.read_tabular_list(write(WELL_FORMED)))
    after = icd10cm.fingerprint_of(icd10cm.read_tabular_list(write(WELL_FORMED.replace(old, new))))
    assert before != after


def test_rows_are_word_counts_and_every_class_has_a_row(dataset):
    counts = counts_of(dataset)
    assert counts.data.min() >= 1
    assert np.diff(counts.indptr).min() >= 1
    assert np.unique(dataset.y).tolist() == list(range(len(dataset.class_names)))
    assert dataset.y.dtype == np.intp


def test_rows_and_classes_follow_the_order_of_the_file(dataset):
    assert (np.diff(dataset.y) >= 0).all()
    assert dataset.class_names[:2] == ("A00", "A01")


def test_the_tree_is_root_chapter_section_category(dataset):
    tree = dataset.taxonomy
    assert tree.depth == 3
    assert tree.parent[0] == -1
    assert (tree.parent[1:] < np.arange(1, len(tree.parent))).all()
    assert len(tree.class_node) == len(set(tree.class_node)) == len(dataset.class_names)
    chapters = tree.parent[tree.parent[tree.class_node]]
    assert (tree.parent[chapters] == 0).all()
    cholera = tree.class_node[dataset.class_names.index("A00")]
    assert tree.node_names[cholera] == "A00 Cholera"
    assert tree.node_names[tree.parent[cholera]] == "Intestinal infectious diseases (A00-A09)"


def test_every_leaf_of_the_taxonomy_is_a_class(dataset):
    tree = dataset.taxonomy
    leaves = set(range(len(tree.parent))) - set(tree.parent.tolist())
    assert leaves == set(tree.class_node.tolist())


def test_the_stamp_has_release_file_and_size():
    path = icd10cm.locate()
    release = metadata.version("simple-icd-10-cm")
    assert icd10cm.stamp_icd10cm() == f"simple-icd-10-cm {release} {path.name} {path.stat().st_size}"


def test_loading_does_not_import_the_package_with_the_data():
    program = (
        "import sys; from harness_text import icd10cm; icd10cm.stamp_icd10cm(); icd10cm.load_icd10cm(); "
        "print('simple_icd_10_cm' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_terms_are_descriptions_and_inclusion_terms_in_file_order(write):
    listed = icd10cm.read_tabular_list(write(WELL_FORMED))
    assert listed.terms == ["Cholera", "Cholera, classical", "Classical cholera", "Old cholera", "Deepest", "Typhoid"]
    assert listed.term_class == [0, 0, 0, 0, 0, 1]
    assert listed.codes == ["A00", "A01"]


def test_a_section_without_categories_is_not_in_the_taxonomy(write):
    listed = icd10cm.read_tabular_list(write(WELL_FORMED))
    assert listed.parent == [-1, 0, 1, 2, 2]
    assert listed.class_node == [3, 4]
    assert listed.node_names == ["ICD-10-CM", "Infections", "Intestinal", "A00 Cholera", "A01 Typhoid"]
    assert_names(listed.summary, "6", "2", "1", "classes")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("<ICD10CM.tabular><chapter>", "no element found"),
        ("<something/>", "found no chapter/section/diag element"),
        (WELL_FORMED.replace("<name>A01</name>", "<name>A01.1</name>"), "three characters, found 'A01.1'"),
        (WELL_FORMED.replace("<name>A01</name>", "<name>A00</name>"), "found a category twice"),
        (WELL_FORMED.replace("<desc>Typhoid</desc>", ""), "expected text in <diag> <desc>, found none"),
        (WELL_FORMED.replace("Old cholera", " "), "expected text in <note>, found none"),
    ],
)
def test_a_file_of_another_shape_raises_an_error_with_the_reason_and_the_next_step(write, text, reason):
    path = write(text)
    with pytest.raises(DataError) as caught:
        icd10cm.read_tabular_list(path)
    assert str(path) in str(caught.value)
    assert reason in str(caught.value)
    assert "simple-icd-10-cm==1.5.0" in str(caught.value)


def test_a_missing_package_raises_an_error_with_the_install_command(monkeypatch):
    monkeypatch.setattr(icd10cm, "PACKAGE", "no_such_package_anywhere")
    for ask in (icd10cm.load_icd10cm, icd10cm.stamp_icd10cm):
        with pytest.raises(DataError, match=r"`pip install simple-icd-10-cm==1\.5\.0`"):
            ask()


def test_a_package_without_metadata_counts_as_missing(monkeypatch):
    monkeypatch.setattr(icd10cm, "DISTRIBUTION", "no-such-distribution")
    with pytest.raises(DataError, match=r"`pip install no-such-distribution==1\.5\.0`"):
        icd10cm.stamp_icd10cm()


@pytest.mark.parametrize(("names", "found"), [([], "found none"), (["a.xml", "b.xml"], "found a.xml, b.xml")])
def test_a_package_with_no_data_file_or_several_is_rejected(monkeypatch, tmp_path, names, found):
    (tmp_path / "carrier" / "data").mkdir(parents=True)
    (tmp_path / "carrier" / "__init__.py").touch()
    for name in names:
        (tmp_path / "carrier" / "data" / name).touch()
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(icd10cm, "PACKAGE", "carrier")
    with pytest.raises(DataError, match=naming("XML", f"{found}")):
        icd10cm.locate()


def test_the_plugin_registers_the_dataset():
    (spec,) = (spec for spec in harness_datasets() if spec.name == "icd10cm")
    assert (spec.name, spec.representation) == ("icd10cm", "tfidf")
    assert spec.licence
    assert spec.citation
