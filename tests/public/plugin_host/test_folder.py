"""A folder of plugins: modules and packages, versioned by content; a broken one does not affect the rest."""

import hashlib

import pytest

from discovery_reports import BUILT_IN, GOOD, names, report_of
from harness.errors import HarnessError
from internals import discover
from messages import assert_names, naming


@pytest.fixture
def folder(tmp_path, clean_modules):
    path = tmp_path / "plugins"
    path.mkdir()
    return path


def version_of(folder, plugin):
    return report_of(discover([folder]), plugin).origin.version


def test_modules_and_packages_of_a_folder_are_plugins(folder):
    (folder / "one_module.py").write_text(GOOD.format(name="from-module"))
    (folder / "one_package").mkdir()
    (folder / "one_package" / "__init__.py").write_text(GOOD.format(name="from-package"))
    (folder / "_helper.py").write_text("raise RuntimeError")
    (folder / ".hidden.py").write_text("raise RuntimeError")
    (folder / "notes.txt").write_text("no plugin")
    (folder / "no_package").mkdir()
    (folder / "no_package" / "script.py").write_text("raise RuntimeError")
    catalog = discover([folder])
    found = {r.origin.plugin: r for r in catalog.plugins if r.origin.distribution != BUILT_IN}
    assert {name: report.status for name, report in found.items()} == {"one_module": "ok", "one_package": "ok"}
    assert catalog.learner("from-module").origin.distribution == "one_module.py"
    assert catalog.learner("one_package:from-package")


def test_a_broken_module_in_a_folder_does_not_affect_the_rest(folder):
    (folder / "bad_module.py").write_text("1 / 0")
    (folder / "dangling_module.py").symlink_to(folder / "nowhere.py")
    (folder / "folder_module.py").mkdir()
    (folder / "good_module.py").write_text(GOOD.format(name="good-one"))
    catalog = discover([folder])
    assert_names(report_of(catalog, "bad_module").reason, "ZeroDivisionError")
    assert report_of(catalog, "dangling_module").status == "broken"
    assert catalog.learner("good-one")


def test_a_module_without_hooks_in_a_folder_is_not_broken(folder, monkeypatch):
    monkeypatch.setenv("HARNESS_STRICT_PLUGINS", "1")
    (folder / "beside_module.py").write_text("class Learner: ...")
    report = report_of(discover([folder]), "beside_module")
    assert (report.status, report.reason) == ("no hooks", "")


IDLE = {
    "unmarked": ("def harness_learners(): return []", "registers nothing: mark at least one"),
    "empty": ("from harness import hookimpl\n@hookimpl\ndef harness_learners(): return []", "registers nothing"),
}


@pytest.mark.parametrize("case", IDLE)
def test_a_module_with_an_unknown_hook_in_a_folder_is_broken(folder, case):
    source, reason = IDLE[case]
    (folder / f"idle_{case}.py").write_text(source)
    report = report_of(discover([folder]), f"idle_{case}")
    assert report.status == "broken"
    assert reason in report.reason


def test_the_version_of_a_folder_plugin_is_a_hash_of_its_content(folder):
    path = folder / "edited_module.py"
    path.write_text(GOOD.format(name="edited"))
    first = version_of(folder, "edited_module")
    assert version_of(folder, "edited_module") == first
    assert len(first) == 12
    path.write_text(GOOD.format(name="edited") + "# changed\n")
    second = version_of(folder, "edited_module")
    assert second != first
    (folder / "_shared.py").write_text("X = 1")
    assert version_of(folder, "edited_module") != second
    (folder / "unrelated.txt").write_text("data")
    (folder / "neighbour_module.py").write_text("")
    assert version_of(folder, "edited_module") == hash_of(folder, "_shared.py", "edited_module.py")


def hash_of(folder, *files):
    parts = [f"{name} {(folder / name).stat().st_size}\n{(folder / name).read_text()}" for name in files]
    return hashlib.sha256("".join(parts).encode()).hexdigest()[:12]


def test_the_version_of_a_package_covers_all_its_files_and_their_names(folder):
    package = folder / "deep_package"
    (package / "inner").mkdir(parents=True)
    (package / "__init__.py").write_text(GOOD.format(name="deep"))
    (package / "inner" / "a.py").write_text("X = 1")
    first = version_of(folder, "deep_package")
    (package / "inner" / "a.py").rename(package / "inner" / "b.py")
    second = version_of(folder, "deep_package")
    (package / "inner" / "b.py").write_text("X = 2")
    assert len({first, second, version_of(folder, "deep_package")}) == 3


def test_the_origin_of_a_plugin_does_not_depend_on_the_folders_path(folder, tmp_path, monkeypatch):
    (folder / "moving_module.py").write_text(GOOD.format(name="mover"))
    absolute = discover([folder]).learner("mover").origin
    monkeypatch.chdir(tmp_path)
    relative = discover([folder.relative_to(tmp_path)]).learner("mover").origin
    assert absolute == relative


def test_a_folder_given_twice_counts_once(folder):
    (folder / "single_module.py").write_text(GOOD.format(name="single"))
    assert discover([folder, folder / ".." / folder.name]).learner("single")


def test_a_module_with_the_name_of_another_raises_an_error_that_asks_for_a_new_name(folder, tmp_path):
    (folder / "json.py").write_text(GOOD.format(name="shadow"))
    (folder / "twice_module.py").write_text(GOOD.format(name="first"))
    second = tmp_path / "second"
    second.mkdir()
    (second / "twice_module.py").write_text(GOOD.format(name="second"))
    catalog = discover([folder, second])
    assert_names(report_of(catalog, "json").reason, "json")
    reports = [r for r in catalog.plugins if r.origin.plugin == "twice_module"]
    assert [r.status for r in reports] == ["ok", "broken"]
    assert_names(reports[1].reason, "twice_module")
    assert names(catalog.learners, "twice_module.py") == ["first"]


def test_a_missing_folder_is_an_error(tmp_path):
    with pytest.raises(HarnessError, match=naming("--plugins-dir")):
        discover([tmp_path / "nowhere"])
