"""Environments of learners with packages of their own: built whole or not at all, over the host's, and told of."""

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
from harness.api.checking import find_checked, run_checks
from harness.api.environments import build_environments, describe_environments, remove_environments, spell_out_all
from harness.api.fitting import FitRequest, fit_request
from harness.api.front import run
from harness.api.session import Session
from harness.contract import LearnerSpec
from harness.environments.building import build_environment
from harness.environments.environment import MANIFEST, environment_for, tell_state
from harness.environments.keeping import remove_environment
from harness.environments.versions import find_versions, host_requirements, with_dependencies
from harness.errors import HarnessError, ModelError, SpecError, UnknownName
from harness.experiment.learner_groups import members_of
from harness.home import environments_root
from harness.progress import Silence
from harness.store import read_records
from own_packages import ASKED, COMMAND, PACKAGE, VERSION, write_plugin, write_wheel


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with the plugin and the wheel; what is built lies there, and pip asks no network."""
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
    """The processes whose Python is one of the environments'."""
    home = str(environments_root())
    return [one for one in psutil.process_iter(["cmdline"]) if (one.info["cmdline"] or [""])[0].startswith(home)]


# -- before anything is built ----------------------------------------------------------------------------------------


def test_a_missing_environment_is_an_error_with_the_command_where_none_may_be_built(place, session):
    with pytest.raises(HarnessError) as told:
        run("picky", "digits", trials=1, out=place / "none", build=False, plugins_dirs=session.folders, progress=False)
    assert told.value.culprit == "learner 'picky'"
    assert "`harness env build picky`" in told.value.next_step
    assert not (place / "none").exists()


def test_a_missing_environment_is_that_of_the_learner_inside(place, session):
    with pytest.raises(HarnessError) as told:
        run("committee(picky)", "digits", out=place / "none", build=False, plugins_dirs=session.folders, progress=False)
    assert told.value.culprit == "learner 'picky'"
    assert told.value.next_step == "`harness env build picky` builds it"


def test_a_group_builds_nothing_and_leaves_out_what_is_not_built(place, session):
    assert "picky" not in members_of("flat", session.catalog)
    with pytest.raises(UnknownName, match="harness env build picky"):
        members_of("pick*", session.catalog)


def test_an_interrupted_build_leaves_nothing(place):
    def interrupt(line):
        if "Installing" in line:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build_environment(environment_for((ASKED,)), interrupt)
    assert left_over() == []
    assert tell_state(environment_for((ASKED,))) == "can be built"


def test_a_build_that_is_asked_to_end_leaves_nothing_and_no_pip(place):
    command = [sys.executable, "-m", "harness", "env", "build", "picky", "--plugins-dir", str(place / "plugins")]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as building:
        while not pips_at_work():
            assert building.poll() is None
            sleep(0.01)
        building.send_signal(signal.SIGTERM)
        _, errors = building.communicate(timeout=60)
    assert (building.returncode, errors.splitlines()[-1]) == (130, "interrupted")
    assert (left_over(), pips_at_work()) == ([], [])


def test_a_failed_build_names_the_package_keeps_pips_words_and_is_told_of_later(place, session):
    with pytest.raises(HarnessError) as told:
        build_environments(["hopeless"], session, Silence())
    assert told.value.trouble == f"{PACKAGE}==98.7 could not be installed"
    assert "learner 'hopeless'" in told.value.culprit
    assert "No matching distribution" in told.value.next_step
    assert "`harness env build` tries again" in told.value.next_step
    assert not [name for name in left_over() if not name.endswith(".failed")]
    (line,) = [line for line in describe_environments(session) if line.learners == ("hopeless",)]
    assert line.state == f"cannot: {PACKAGE}==98.7 could not be installed"


def test_a_learner_without_packages_of_its_own_has_nothing_to_build(place, session):
    with pytest.raises(SpecError, match="needs no environment"):
        build_environments(["pa"], session, Silence())


def test_all_stands_for_every_learner_with_packages_of_its_own():
    packages = {"environment": ("somepackage",)}
    catalog = catalog_of((learner("b", **packages), learner("plain"), learner("a", **packages)))
    assert spell_out_all(["all"], catalog) == ["a", "b"]
    assert spell_out_all(["b", "all"], catalog) == ["b", "a"]
    assert spell_out_all(["plain"], catalog) == ["plain"]


def test_one_that_cannot_be_built_keeps_no_other_from_it(place, session, monkeypatch):
    monkeypatch.setenv("HARNESS_DATA_HOME", str(place / "another home"))
    with pytest.raises(HarnessError) as told:
        build_environments(["hopeless", "picky"], session, Silence())
    assert "1 environment could not be built; 1 are there" in told.value.trouble
    assert f"{PACKAGE}==98.7 could not be installed" in told.value.trouble
    states = {line.learners: line.state for line in describe_environments(session)}
    assert states["picky",] == "ready"


def test_a_wrong_name_keeps_all_from_being_removed(place, session, monkeypatch):
    monkeypatch.setenv("HARNESS_DATA_HOME", str(place / "another home"))
    with pytest.raises(UnknownName, match="no environment 'wrong' is kept"):
        remove_environments(["picky", "wrong"], session)
    assert tell_state(environment_for((ASKED,))) == "ready"
    assert len(remove_environments(["picky", "hopeless"], session)) == 2
    assert left_over() == []


def test_versions_of_another_machine_are_built_here_too(place, monkeypatch):
    write_wheel(place / "wheels", "99.2")
    monkeypatch.setenv("HARNESS_DATA_HOME", str(place / "third home"))
    environment = environment_for((f"{PACKAGE}>=99",))
    ready = build_environment(environment, Silence().say, {PACKAGE: VERSION})
    assert ready.packages == {PACKAGE: VERSION}
    remove_environment(environment.name)
    assert build_environment(environment, Silence().say).packages == {PACKAGE: "99.2"}


# -- built -----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def results(place, session):
    """A run that builds the environment, of a learner in it beside one of the host's."""
    return run("picky,pa", "digits", trials=1, out=place / "out", plugins_dirs=session.folders, progress=False)


def test_trials_find_the_version_that_was_asked_for_and_the_others_the_hosts(results, place):
    by_learner = {record.learner: record for record in read_records(place / "out")}
    assert version(PACKAGE) != VERSION
    assert by_learner["picky"].status == "ok", by_learner["picky"].message
    assert by_learner["picky"].versions[PACKAGE] == VERSION
    assert by_learner["picky"].versions["numpy"] == version("numpy")
    assert PACKAGE not in by_learner["pa"].versions


def test_what_the_host_can_import_besides_does_not_go_before_the_environments_own(results, place, session, monkeypatch):
    besides = place / "besides"
    besides.mkdir()
    (besides / f"{PACKAGE}.py").write_text("")
    monkeypatch.setenv("PYTHONPATH", str(besides))
    monkeypatch.syspath_prepend(besides)
    again = run("picky", "digits", trials=1, out=place / "besides-out", plugins_dirs=session.folders, progress=False)
    assert [record.status for record in again.records] == ["ok"], again.records[0].message


def test_its_commands_run_from_where_it_lies(results):
    ready = environment_for((ASKED,)).find()
    done = subprocess.run([ready.python.parent / COMMAND], capture_output=True, text=True, check=True)
    assert done.stdout == "True\n"
    for file in ready.python.parent.iterdir():
        assert file.is_symlink() or b"/." + ready.name.encode() not in file.read_bytes(), "of where it was made"


def test_what_was_built_is_listed_ready_and_small(results, session):
    (line,) = [line for line in describe_environments(session) if line.learners == ("picky",)]
    assert line.state == "ready"
    assert 0 < line.n_bytes < 1e6
    assert "picky" in members_of("flat", session.catalog)


def test_one_of_another_installation_is_told_as_such(results, place, session):
    file = environment_for((ASKED,)).folder / MANIFEST
    other = file.parent.with_name("theirs")
    other.mkdir()
    for prefix, state in (("/another/venv", "of another Python, /another/venv"), (sys.prefix, "not needed")):
        (other / MANIFEST).write_text(json.dumps(json.loads(file.read_text()) | {"prefix": prefix}))
        assert {line.name: line.state for line in describe_environments(session)}["theirs"] == state
    assert remove_environments(["theirs"], session) == ["theirs"]


def test_the_key_covers_the_versions_that_were_resolved(results, place, session):
    environment = environment_for((ASKED,))
    file = environment.folder / MANIFEST
    before = file.read_text()
    content = json.loads(before)
    assert content["packages"] == {PACKAGE: VERSION}
    content["packages"]["numpy"] = content["beneath"].pop("numpy")  # as if the learner had asked for it as well
    file.write_text(json.dumps(content))
    try:
        again = run("picky", "digits", trials=1, out=place / "out", plugins_dirs=session.folders, progress=False)
    finally:
        file.write_text(before)
    keys = {record.key for record in read_records(place / "out") if record.learner == "picky"}
    assert len(keys) == 2
    assert len(again.records) == 1


def test_an_environment_whose_ground_has_changed_is_not_ready(results):
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


def test_an_environment_whose_python_is_gone_is_not_ready(results):
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


def test_a_python_that_can_install_nothing_cannot_build(monkeypatch):
    monkeypatch.setattr("harness.environments.environment.INSTALLERS", ("no_pip", "no_ensurepip"))
    state, why = environment_for(("never-built",)).state()
    assert (state, "no pip" in why) == ("cannot", True)


def test_the_conformance_checks_run_in_the_environment(results, session):
    checked = find_checked("picky", session.catalog)
    ends = {result.name: result.end for result in run_checks(checked, session, 60.0)}
    assert ends["learns_an_easy_problem"].status == "ok", ends["learns_an_easy_problem"].reason
    assert not [name for name, end in ends.items() if end.status == "failed"]


def test_removing_by_the_learners_name_takes_all_of_it_away(results, session):
    name = environment_for((ASKED,)).name
    assert remove_environments(["picky"], session) == [name]
    assert name not in left_over()
    with pytest.raises(UnknownName, match="no environment"):
        remove_environments(["picky"], session)


# -- names -----------------------------------------------------------------------------------------------------------

PACKAGES = st.lists(st.from_regex(r"[a-z]{1,8}(<[0-9]{1,2})?", fullmatch=True), min_size=1, max_size=4, unique=True)


@given(PACKAGES, st.randoms())
def test_an_environment_goes_by_what_is_asked_for_in_any_order(asked, random):
    shuffled = list(asked)
    random.shuffle(shuffled)
    assert environment_for(tuple(asked)).name == environment_for(tuple(shuffled)).name
    assert environment_for((*asked, "another-one==1")).name != environment_for(tuple(asked)).name


def install(folder, name, *needs):
    about = folder / f"{name}-1.0.dist-info"
    about.mkdir(parents=True)
    lines = ["Metadata-Version: 2.1", f"Name: {name}", "Version: 1.0", *(f"Requires-Dist: {need}" for need in needs)]
    (about / "METADATA").write_text("\n".join(lines) + "\n")


def test_what_is_needed_is_followed_through_every_package_that_is_there(tmp_path):
    install(tmp_path, "a", "b[fast]>=1", "never; python_version<'3'", "tool; extra == 'test'")
    install(tmp_path, "b", "c", "quick; extra == 'fast'")
    install(tmp_path, "c", "a", "absent")
    found = with_dependencies(["a"], [str(tmp_path)])
    assert found == ["a", "absent", "b", "c", "quick"]
    assert find_versions(found, [str(tmp_path)]) == {"a": "1.0", "b": "1.0", "c": "1.0"}


def test_what_harness_needs_leaves_out_its_extras():
    needed = host_requirements()
    assert any(text.startswith("numpy") for text in needed)
    assert not any(text.startswith("pytest") for text in needed)


@pytest.mark.parametrize("wrong", [["numpy"], ("--index-url=x",), (1,), ("",), "numpy"])
def test_what_is_no_package_is_refused_in_the_spec(wrong):
    with pytest.raises(SpecError, match="environment"):
        LearnerSpec(name="x", load="m:C", environment=wrong)


def test_a_model_of_such_a_learner_is_refused_before_anything_is_read(place, session):
    with pytest.raises(ModelError, match="an environment of its own"):
        fit_request(FitRequest(learner="picky", data="digits"), session, None)
