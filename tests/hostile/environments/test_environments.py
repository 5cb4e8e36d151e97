"""Environments of learners with separate packages: built completely or not at all, on top of the host's packages."""

import json
import signal
import subprocess
import sys
from importlib.metadata import version
from time import sleep

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments import catalog_of, learner
from harness import LearnerSpec, run
from harness.errors import HarnessError, SpecError, UnknownName
from internals import ENVIRONMENT_MANIFEST as MANIFEST
from internals import (
    NullProgress,
    Session,
    build_environment,
    build_environments,
    describe_environments,
    describe_state,
    environment_for,
    environments_root,
    find_checked,
    find_damage,
    find_versions,
    host_requirements,
    patch_internal,
    read_records,
    remove_environment,
    remove_environments,
    run_checks,
    spell_out_all,
    with_dependencies,
)
from internals import members_of_group as members_of
from messages import assert_names, naming
from own_packages import ASKED, COMMAND, PACKAGE, VERSION, write_plugin, write_wheel


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Return a folder with the plugin and the wheel; environments are built there, and pip uses no network."""
    folder = tmp_path_factory.mktemp("own-packages")
    write_plugin(folder / "plugins")
    write_wheel(folder / "wheels")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HARNESS_DATA_HOME", str(folder / "home"))
        patch.setenv("PIP_NO_INDEX", "1")
        patch.setenv("PIP_FIND_LINKS", str(folder / "wheels"))
        yield folder


@pytest.fixture(scope="module")
def session(place):
    return Session((place / "plugins",))


def left_over():
    return sorted(path.name for path in environments_root().glob("*"))


def pips_at_work():
    """Return the processes that run the Python of an environment."""
    home = str(environments_root())
    return [one for one in psutil.process_iter(["cmdline"]) if (one.info["cmdline"] or [""])[0].startswith(home)]


# -- before anything is built ----------------------------------------------------------------------------------------


def test_a_missing_environment_is_an_error_with_the_build_command_if_building_is_off(place, session):
    with pytest.raises(HarnessError) as printed:
        run("picky", "digits", trials=1, out=place / "none", build=False, plugins_dirs=session.folders, progress=False)
    assert printed.value.culprit == "learner 'picky'"
    assert_names(printed.value.next_step, "harness env build picky")
    assert not (place / "none").exists()


def test_the_environment_of_an_inner_learner_is_required_too(place, session):
    with pytest.raises(HarnessError) as printed:
        run("committee(picky)", "digits", out=place / "none", build=False, plugins_dirs=session.folders, progress=False)
    assert printed.value.culprit == "learner 'picky'"
    assert_names(printed.value.next_step, "harness env build picky")


def test_a_group_builds_nothing_and_omits_learners_without_an_environment(place, session):
    assert "picky" not in members_of("flat", session.catalog)
    with pytest.raises(UnknownName, match=naming("harness env build picky")):
        members_of("pick*", session.catalog)


def test_an_interrupted_build_leaves_nothing(place):
    def interrupt(line):
        if "Installing" in line:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build_environment(environment_for((ASKED,)), interrupt)
    assert left_over() == []
    assert describe_state(environment_for((ASKED,))) == "can be built"


def test_a_terminated_build_leaves_no_files_and_no_pip(place):
    command = [sys.executable, "-m", "harness", "env", "build", "picky", "--plugins-dir", str(place / "plugins")]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as building:
        while not pips_at_work():
            assert building.poll() is None
            sleep(0.01)
        building.send_signal(signal.SIGTERM)
        _, errors = building.communicate(timeout=60)
    assert (building.returncode, errors.splitlines()[-1]) == (130, "interrupted")
    _, alive = psutil.wait_procs(pips_at_work(), timeout=10)  # a killed process needs a moment to end
    assert (left_over(), alive) == ([], [])


def test_a_failed_build_names_the_package_and_keeps_pips_output(place, session):
    with pytest.raises(HarnessError) as printed:
        build_environments(["hopelessly-picky"], session, NullProgress())
    assert_names(printed.value.trouble, f"{PACKAGE}==98.7")
    assert "learner 'hopelessly-picky'" in printed.value.culprit
    assert "No matching distribution" in printed.value.next_step
    assert_names(printed.value.next_step, "harness env build")
    assert not [name for name in left_over() if not name.endswith(".failed")]
    (line,) = [line for line in describe_environments(session) if line.learners == ("hopelessly-picky",)]
    assert line.state == f"cannot: {PACKAGE}==98.7 could not be installed"


def test_a_learner_without_separate_packages_has_nothing_to_build(place, session):
    with pytest.raises(SpecError, match="needs no environment"):
        build_environments(["pa"], session, NullProgress())


def test_all_selects_every_learner_with_separate_packages():
    packages = {"environment": ("somepackage",)}
    catalog = catalog_of((learner("b", **packages), learner("plain"), learner("a", **packages)))
    assert spell_out_all(["all"], catalog) == ["a", "b"]
    assert spell_out_all(["b", "all"], catalog) == ["b", "a"]
    assert spell_out_all(["plain"], catalog) == ["plain"]


def test_a_failed_build_does_not_prevent_the_others(place, session, monkeypatch):
    monkeypatch.setenv("HARNESS_DATA_HOME", str(place / "another home"))
    with pytest.raises(HarnessError) as printed:
        build_environments(["hopelessly-picky", "picky"], session, NullProgress())
    assert_names(printed.value.trouble, "1", "environment")
    assert_names(printed.value.trouble, f"{PACKAGE}==98.7")
    states = {line.learners: line.state for line in describe_environments(session)}
    assert states["picky",] == "ready"


def test_an_unknown_name_prevents_any_removal(place, session, monkeypatch):
    monkeypatch.setenv("HARNESS_DATA_HOME", str(place / "another home"))
    with pytest.raises(UnknownName, match=naming("wrong")):
        remove_environments(["picky", "wrong"], session)
    assert describe_state(environment_for((ASKED,))) == "ready"
    assert len(remove_environments(["picky", "hopelessly-picky"], session)) == 2
    assert left_over() == []


def test_pinned_versions_of_another_machine_are_built(place, monkeypatch):
    write_wheel(place / "wheels", "99.2")
    monkeypatch.setenv("HARNESS_DATA_HOME", str(place / "third home"))
    environment = environment_for((f"{PACKAGE}>=99",))
    ready = build_environment(environment, NullProgress().say, {PACKAGE: VERSION})
    assert ready.packages == {PACKAGE: VERSION}
    remove_environment(environment.name)
    assert build_environment(environment, NullProgress().say).packages == {PACKAGE: "99.2"}


# -- built -----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def results(place, session):
    """Run a learner in its environment next to one of the host, building the environment."""
    return run("picky,pa", "digits", trials=1, out=place / "out", plugins_dirs=session.folders, progress=False)


def test_trials_import_the_requested_version_and_other_learners_the_hosts(results, place):
    by_learner = {record.learner: record for record in read_records(place / "out")}
    assert version(PACKAGE) != VERSION
    assert by_learner["picky"].status == "ok", by_learner["picky"].message
    assert by_learner["picky"].versions[PACKAGE] == VERSION
    assert by_learner["picky"].versions["numpy"] == version("numpy")
    assert PACKAGE not in by_learner["pa"].versions


def test_host_packages_do_not_shadow_those_of_the_environment(results, place, session, monkeypatch):
    besides = place / "besides"
    besides.mkdir()
    (besides / f"{PACKAGE}.py").write_text("")
    monkeypatch.setenv("PYTHONPATH", str(besides))
    monkeypatch.syspath_prepend(besides)
    again = run("picky", "digits", trials=1, out=place / "besides-out", plugins_dirs=session.folders, progress=False)
    assert [record.status for record in again.records] == ["ok"], again.records[0].message


def test_commands_of_an_environment_run_from_its_folder(results):
    ready = environment_for((ASKED,)).find()
    done = subprocess.run([ready.python.parent / COMMAND], capture_output=True, text=True, check=True)
    assert done.stdout == "True\n"
    for file in ready.python.parent.iterdir():
        assert file.is_symlink() or b"/." + ready.name.encode() not in file.read_bytes(), "of where it was made"


def test_a_built_environment_is_listed_as_ready_and_small(results, session):
    (line,) = [line for line in describe_environments(session) if line.learners == ("picky",)]
    assert line.state == "ready"
    assert 0 < line.n_bytes < 1e6
    assert "picky" in members_of("flat", session.catalog)


def test_an_environment_of_another_installation_is_marked(results, place, session):
    file = environment_for((ASKED,)).folder / MANIFEST
    other = file.parent.with_name("theirs")
    other.mkdir()
    for prefix, state in (("/another/venv", "belongs to /another/venv"), (sys.prefix, "unused")):
        (other / MANIFEST).write_text(json.dumps(json.loads(file.read_text()) | {"prefix": prefix}))
        assert {line.name: line.state for line in describe_environments(session)}["theirs"] == state
    assert remove_environments(["theirs"], session) == ["theirs"]


def test_the_key_covers_the_resolved_versions(results, place, session):
    environment = environment_for((ASKED,))
    file = environment.folder / MANIFEST
    before = file.read_text()
    content = json.loads(before)
    assert content["packages"] == {PACKAGE: VERSION}
    content["packages"]["numpy"] = content["beneath"].pop("numpy")  # as if the learner required it too
    file.write_text(json.dumps(content))
    try:
        again = run("picky", "digits", trials=1, out=place / "out", plugins_dirs=session.folders, progress=False)
    finally:
        file.write_text(before)
    keys = {record.key for record in read_records(place / "out") if record.learner == "picky"}
    assert len(keys) == 2
    assert len(again.records) == 1


def test_an_environment_whose_base_has_changed_is_not_ready(results):
    environment = environment_for((ASKED,))
    file = environment.folder / MANIFEST
    before = file.read_text()
    content = json.loads(before)
    content["beneath"]["numpy"] = "1.0"
    file.write_text(json.dumps(content))
    try:
        assert environment.find() is None
    finally:
        file.write_text(before)
    assert environment.find() is not None


def test_an_environment_without_its_python_is_not_ready(results):
    environment = environment_for((ASKED,))
    python = environment.find().python
    target = python.readlink()
    python.unlink()
    python.symlink_to("/nowhere/python")
    try:
        assert environment.find() is None
    finally:
        python.unlink()
        python.symlink_to(target)
    assert environment.find() is not None


def test_a_damaged_environment_is_named_and_rebuilt_before_its_first_trial(results, place, session, capsys):
    (file,) = environment_for((ASKED,)).folder.glob(f"lib/*/site-packages/{PACKAGE}.py")
    file.write_text(file.read_text() + "raise ImportError\n")
    again = run("picky", "digits", trials=1, out=place / "damaged", plugins_dirs=session.folders)
    assert [record.status for record in again.records] == ["ok"], again.records[0].message
    assert "ImportError" not in file.read_text()
    printed = capsys.readouterr().err
    assert f"{PACKAGE}.py is not as it was installed" in printed


@pytest.mark.parametrize("how", ["missing", "without RECORD"])
def test_an_environment_with_missing_files_is_damaged(results, place, session, how):
    environment = environment_for((ASKED,))
    (record,) = environment.folder.glob(f"lib/*/site-packages/{PACKAGE}-*/RECORD")
    file = record if how == "without RECORD" else record.parents[1] / f"{PACKAGE}.py"
    before = file.read_bytes()
    file.unlink()
    assert find_damage(environment.folder).endswith(file.name)
    with pytest.raises(HarnessError, match="not built"):
        run("picky", "digits", trials=1, out=place / "no", build=False, plugins_dirs=session.folders, progress=False)
    file.write_bytes(before)
    assert find_damage(environment.folder) == ""


def test_files_overwritten_by_another_package_are_no_damage(results):
    environment = environment_for((ASKED,))
    (file,) = environment.folder.glob(f"lib/*/site-packages/{PACKAGE}.py")
    manifest = environment.folder / MANIFEST
    before, kept = file.read_bytes(), manifest.read_text()
    file.write_bytes(before + b"# of another package\n")
    try:
        assert find_damage(environment.folder) == file.name
        manifest.write_text(json.dumps(json.loads(kept) | {"overwritten": [file.name]}))
        assert find_damage(environment.folder) == ""
    finally:
        file.write_bytes(before)
        manifest.write_text(kept)


def test_a_python_without_pip_cannot_build(monkeypatch):
    patch_internal(monkeypatch, "INSTALLERS", ("no_pip", "no_ensurepip"))
    state, why = environment_for(("never-built",)).state()
    assert (state, "no pip" in why) == ("cannot", True)


def test_the_conformance_checks_run_in_the_environment(results, session):
    checked = find_checked("picky", session.catalog)
    ends = {result.name: result.end for result in run_checks(checked, session, 60.0)}
    assert ends["learns_an_easy_problem"].status == "ok", ends["learns_an_easy_problem"].reason
    assert not [name for name, end in ends.items() if end.status == "failed"]


def test_removal_by_learner_name_removes_everything(results, session):
    name = environment_for((ASKED,)).name
    assert remove_environments(["picky"], session) == [name]
    assert name not in left_over()
    with pytest.raises(UnknownName, match="no environment"):
        remove_environments(["picky"], session)


# -- names -----------------------------------------------------------------------------------------------------------

PACKAGES = st.lists(st.from_regex(r"[a-z]{1,8}(<[0-9]{1,2})?", fullmatch=True), min_size=1, max_size=4, unique=True)


@given(PACKAGES, st.randoms())
def test_requirements_in_any_order_give_the_same_environment(requirements, random):
    shuffled = list(requirements)
    random.shuffle(shuffled)
    assert environment_for(tuple(requirements)).name == environment_for(tuple(shuffled)).name
    assert environment_for((*requirements, "another-one==1")).name != environment_for(tuple(requirements)).name


def install(folder, name, *needs):
    about = folder / f"{name}-1.0.dist-info"
    about.mkdir(parents=True)
    lines = ["Metadata-Version: 2.1", f"Name: {name}", "Version: 1.0", *(f"Requires-Dist: {need}" for need in needs)]
    (about / "METADATA").write_text("\n".join(lines) + "\n")


def test_requirements_are_followed_through_installed_packages(tmp_path):
    install(tmp_path, "a", "b[fast]>=1", "never; python_version<'3'", "tool; extra == 'test'")
    install(tmp_path, "b", "c", "quick; extra == 'fast'")
    install(tmp_path, "c", "a", "absent")
    found = with_dependencies(["a"], [str(tmp_path)])
    assert found == ["a", "absent", "b", "c", "quick"]
    assert find_versions(found, [str(tmp_path)]) == {"a": "1.0", "b": "1.0", "c": "1.0"}


def test_requirements_of_harness_omit_its_extras():
    needed = host_requirements()
    assert any(text.startswith("numpy") for text in needed)
    assert not any(text.startswith("pytest") for text in needed)


@pytest.mark.parametrize("wrong", [["numpy"], ("--index-url=x",), (1,), ("",), "numpy"])
def test_an_invalid_requirement_is_rejected_in_the_spec(wrong):
    with pytest.raises(SpecError, match="environment"):
        LearnerSpec(name="x", load="m:C", environment=wrong)
