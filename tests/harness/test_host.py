"""Discovery: real distributions and plugin folders; a broken one is reported in full and never stops the others."""

import hashlib
import importlib
import sys
from textwrap import dedent

import pytest

from harness.errors import AmbiguousName, HarnessError, UnknownName
from harness.host import discover

GOOD = """
from harness import LearnerSpec, hookimpl

@hookimpl
def harness_learners():
    return [LearnerSpec(name="{name}", load="somewhere:Thing", kind="flat", summary="a thing")]
"""
BUILT_IN = "manyclass-harness"


@pytest.fixture(autouse=True)
def lenient(monkeypatch):
    monkeypatch.delenv("HARNESS_STRICT_PLUGINS", raising=False)


@pytest.fixture
def clean_modules(monkeypatch):
    """Forgets the modules that a test brings in, and gives sys.path back."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    before = set(sys.modules)
    importlib.invalidate_caches()
    yield
    for name in set(sys.modules) - before:
        del sys.modules[name]
    importlib.invalidate_caches()


@pytest.fixture
def install(tmp_path, monkeypatch, clean_modules):
    """Writes distributions as pip leaves them: METADATA, entry_points.txt and the module, in a folder on sys.path."""
    site = tmp_path / "site"
    site.mkdir()
    monkeypatch.syspath_prepend(site)

    def write(distribution, source, version="1.0", plugin=None, target=None):
        module = distribution.replace("-", "_") + "_module"
        (site / f"{module}.py").write_text(dedent(source))
        info = site / f"{distribution.replace('-', '_')}-{version}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: {version}\n")
        (info / "entry_points.txt").write_text(f"[harness]\n{plugin or distribution} = {target or module}\n")
        importlib.invalidate_caches()
        return info

    return write


def report_of(catalog, plugin):
    (report,) = [report for report in catalog.plugins if report.origin.plugin == plugin]
    return report


def names(entries, distribution=None):
    return [entry.spec.name for entry in entries if distribution in (None, entry.origin.distribution)]


# -- what is installed -----------------------------------------------------------------------------------------------


def test_the_built_in_plugins_come_in_by_the_same_door():
    catalog = discover()
    assert {report.origin.distribution for report in catalog.plugins} >= {BUILT_IN}
    assert all(r.status == "ok" for r in catalog.plugins if r.origin.distribution == BUILT_IN)
    assert catalog.learner("pa").spec.kind == "flat"
    assert catalog.dataset("digits").spec.representation == "tf"
    assert catalog.metric("r1").spec.title == "R1"
    assert catalog.experiment("pa-steps").spec.resource.endswith(".toml")


def test_an_installed_plugin_brings_its_learner_with_its_origin(install):
    install("far-away", GOOD.format(name="thing"), version="2.3")
    catalog = discover()
    entry = catalog.learner("thing")
    assert (entry.origin.plugin, entry.origin.distribution, entry.origin.version) == ("far-away", "far-away", "2.3")
    assert report_of(catalog, "far-away").status == "ok"


def test_plugins_are_sorted_by_distribution(install):
    for name in ("zebra", "alpaca", "monkey"):
        install(name, GOOD.format(name=name))
    distributions = [report.origin.distribution for report in discover().plugins]
    assert distributions == sorted(distributions)


BROKEN = {
    "raises": ("raise RuntimeError('no\\nluck')", "RuntimeError: no luck"),
    "exits": ("import sys; sys.exit(4)", "SystemExit: 4"),
    "lacks": (
        "import no_such_dependency_at_all",
        "needs the module 'no_such_dependency_at_all', which is not installed",
    ),
    "syntax": ("def def", "SyntaxError: invalid syntax"),
    "misspelt": (
        "from harness import hookimpl\n@hookimpl\ndef harness_learner(): return []",
        "unknown hook 'harness_learner' in 'misspelt_module': did you mean 'harness_learners'? the hooks are "
        "harness_learners, harness_datasets, harness_metrics, harness_experiments",
    ),
    "misspelt-and-wrong": (
        "from harness import hookimpl\n@hookimpl\ndef harness_datasett(): return []\n"
        "@hookimpl\ndef harness_learners(config): return []",
        "definition: harness_learners(config)",
    ),
    "hook-raises": (
        "from harness import hookimpl\n@hookimpl\ndef harness_metrics(): raise KeyError('gone')",
        "KeyError: 'gone'",
    ),
    "hook-exits": (
        "from harness import hookimpl\n@hookimpl\ndef harness_metrics(): raise SystemExit('bye')",
        "SystemExit: bye",
    ),
    "unmarked": ("def harness_learners(): return []", "registers nothing: mark at least one"),
    "empty": ("from harness import hookimpl\n@hookimpl\ndef harness_learners(): return []", "registers nothing"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_plugin_is_reported_in_full_and_the_others_work_on(install, case):
    source, reason = BROKEN[case]
    install("a-first", GOOD.format(name="first"))
    install(case, source, version="0.7")
    install("zz-last", GOOD.format(name="last"))
    catalog = discover()
    report = report_of(catalog, case)
    assert (report.status, report.origin.distribution, report.origin.version) == ("broken", case, "0.7")
    assert reason in report.reason
    assert "\n" not in report.reason
    assert report_of(catalog, "a-first").status == report_of(catalog, "zz-last").status == "ok"
    assert {"first", "last", "pa"} <= set(names(catalog.learners))
    assert not names(catalog.learners, case)


def test_all_broken_plugins_together_leave_the_good_ones_whole(install):
    alone = discover()
    for case, (source, _) in BROKEN.items():
        install(case, source)
    catalog = discover()
    assert {r.origin.plugin for r in catalog.plugins if r.status == "broken"} == set(BROKEN)
    assert catalog.learners == alone.learners
    assert catalog.metrics == alone.metrics


def learner_hook(expression, hook="harness_learners"):
    return f"""
    from harness import DatasetSpec, ExperimentSpec, LearnerSpec, MetricSpec, hookimpl

    @hookimpl
    def {hook}():
        return {expression}
    """


RUBBISH = {
    "word": ("'pa'", "harness_learners returned 'pa' where a list of LearnerSpec belongs"),
    "nothing": ("None", "harness_learners returned None where a list of LearnerSpec belongs"),
    "numbers": ("[1, 2]", "harness_learners returned 1 where a LearnerSpec belongs"),
    "other-spec": ("[MetricSpec(name='m', compute='a:b')]", "where a LearnerSpec belongs"),
    "bad-name": ("[LearnerSpec(name='My Learner', load='a:B')]", "the name 'My Learner' must be lower case letters"),
    "no-name": ("[LearnerSpec(name=None, load='a:B')]", "the name None must be"),
    "colon-name": ("[LearnerSpec(name='a:b', load='a:B')]", "the name 'a:b' must be"),
    "bad-load": ("[LearnerSpec(name='x', load='a.B')]", "x.load is 'a.B', expected 'module:name'"),
    "class-load": ("[LearnerSpec(name='x', load=int)]", "x.load is <class 'int'>, expected 'module:name'"),
    "bad-kind": ("[LearnerSpec(name='x', load='a:B', kind='bush')]", "x.kind is 'bush', expected one of flat, tree"),
    "bad-need": (
        "[LearnerSpec(name='x', load='a:B', needs={'positive'})]",
        "x.needs is {'positive'}, expected a set of nonnegative, taxonomy, dense",
    ),
    "bad-support": ("[LearnerSpec(name='x', load='a:B', supports='multilabel')]", "expected a set of multilabel"),
    "bad-preload": ("[LearnerSpec(name='x', load='a:B', preload='a')]", "x.preload is 'a', expected a value of type"),
    "bad-parameters": ("[LearnerSpec(name='x', load='a:B', parameters=['C'])]", "x.parameters is ['C'], expected"),
    "twice": ("[LearnerSpec(name='x', load='a:B')] * 2", "harness_learners gives the name 'x' twice"),
}


@pytest.mark.parametrize("case", RUBBISH)
def test_a_hook_that_returns_rubbish_makes_its_plugin_broken_and_no_other(install, case):
    expression, reason = RUBBISH[case]
    install(case, learner_hook(expression))
    install("good", GOOD.format(name="good-one"))
    catalog = discover()
    assert report_of(catalog, case).status == "broken"
    assert reason in report_of(catalog, case).reason
    assert catalog.learner("good-one").origin.distribution == "good"


@pytest.mark.parametrize(
    ("hook", "expression", "reason"),
    [
        (
            "harness_datasets",
            "[DatasetSpec(name='d', load='a:b', representation='idf')]",
            "one of raw, binary, tf, tfidf",
        ),
        (
            "harness_datasets",
            "[DatasetSpec(name='d', load='a:b', stamp='b')]",
            "d.stamp is 'b', expected 'module:name'",
        ),
        (
            "harness_datasets",
            "[DatasetSpec(name='d', load='a:b', version='2')]",
            "d.version is '2', expected a value of",
        ),
        (
            "harness_datasets",
            "[DatasetSpec(name='d', load='a:b', facts={'lines': 3})]",
            "d.facts is {'lines': 3}, expected numbers for rows, features, classes, nonzeros, taxonomy_depth",
        ),
        ("harness_metrics", "[MetricSpec(name='m', compute='b')]", "m.compute is 'b', expected 'module:name'"),
        ("harness_metrics", "[MetricSpec(name='m', compute='a:b', unit='percent')]", "one of share, seconds, bytes"),
        ("harness_metrics", "[MetricSpec(name='m', compute='a:b', direction='up')]", "expected one of higher, lower"),
        (
            "harness_metrics",
            "[MetricSpec(name='m', compute='a:b', depth=True)]",
            "m.depth is True, expected a value of",
        ),
        ("harness_experiments", "[ExperimentSpec(name='e', resource='file.toml')]", "e.resource is 'file.toml'"),
    ],
)
def test_specs_of_every_hook_are_validated(install, hook, expression, reason):
    install("odd", learner_hook(expression, hook))
    report = report_of(discover(), "odd")
    assert report.status == "broken"
    assert reason in report.reason


def test_a_hook_may_be_a_generator(install):
    install("lazy", "from harness import LearnerSpec, hookimpl\n@hookimpl\ndef harness_learners():\n"
            "    yield LearnerSpec(name='lazily', load='a:B')")  # fmt: skip
    assert discover().learner("lazily").origin.distribution == "lazy"


def test_what_a_plugin_prints_stays_off_the_hosts_output(install, capsys):
    install("chatty", "print('hello')\n" + GOOD.format(name="chatter"))
    assert discover().learner("chatter")
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "hello" in captured.err


def test_the_remains_of_an_interrupted_installation_do_not_stop_the_host(install):
    info = install("halfway", GOOD.format(name="half"))
    (info / "METADATA").unlink()
    catalog = discover()
    assert catalog.learner("half").origin.distribution == "unknown"
    assert catalog.learner("pa")


def test_an_entry_point_that_names_nothing_is_reported(install):
    install("gone", "", target="no_such_module_here")
    install("hollow", "", target="hollow_module:missing")
    catalog = discover()
    assert "no_such_module_here" in report_of(catalog, "gone").reason
    assert "has no attribute 'missing'" in report_of(catalog, "hollow").reason


# -- names -----------------------------------------------------------------------------------------------------------


def test_one_name_from_two_distributions_is_ambiguous_and_either_can_be_picked(install):
    install("north", GOOD.format(name="both"), version="1.1")
    install("south", GOOD.format(name="both"), version="2.2")
    install("west", GOOD.format(name="alone"))
    catalog = discover()
    with pytest.raises(AmbiguousName, match=r"learner 'both' .*pick one with north:both or south:both"):
        catalog.learner("both")
    assert catalog.learner("north:both").origin.version == "1.1"
    assert catalog.learner("south:both").origin.version == "2.2"
    assert report_of(catalog, "north").status == report_of(catalog, "south").status == "conflict"
    assert report_of(catalog, "north").reason == "'both' is also given by south"
    assert report_of(catalog, "west").status == "ok"
    assert catalog.learner("alone").origin.distribution == "west"


def test_a_built_in_name_taken_again_is_no_longer_anybodys_alone(install):
    install("copycat", GOOD.format(name="pa"))
    catalog = discover()
    with pytest.raises(AmbiguousName, match=f"copycat:pa or {BUILT_IN}:pa"):
        catalog.learner("pa")
    assert catalog.learner(f"{BUILT_IN}:pa").spec.load == "harness_prototype.pa:PA"


def test_one_name_twice_from_one_distribution_is_told_with_the_way_out(install):
    install("twin", GOOD.format(name="same"))
    install("unused", GOOD.format(name="same"), target="twin_module")
    info = install("other", "", target="twin_module:harness_nothing")
    (info / "entry_points.txt").write_text("[harness]\none = twin_module\ntwo = twin_module\n")
    catalog = discover(disabled=["twin", "unused"])
    with pytest.raises(AmbiguousName, match=r"one of other, two of other\): use --disable-plugin"):
        catalog.learner("same")


@pytest.mark.parametrize(
    ("ask", "name", "hint"),
    [
        ("learner", "paa", "unknown learner 'paa'; did you mean pa or oaa?"),
        ("dataset", "digit", "unknown data set 'digit'; did you mean digits?"),
        ("metric", "trian", "unknown metric 'trian'; did you mean train"),
        ("experiment", "pa_steps", "unknown experiment 'pa_steps'; did you mean pa-steps?"),
        ("learner", "manyclass:pa", f"did you mean {BUILT_IN}:pa?"),
    ],
)
def test_an_unknown_name_comes_with_the_nearest_ones(ask, name, hint):
    with pytest.raises(UnknownName) as caught:
        getattr(discover(), ask)(name)
    assert hint in str(caught.value)
    assert "s` shows all" in str(caught.value)


def test_a_name_near_nothing_comes_with_all_that_are_known():
    with pytest.raises(UnknownName, match=r"unknown data set 'qqqqqq'; known: .*digits"):
        discover().dataset("qqqqqq")


# -- leaving out, and strictness -------------------------------------------------------------------------------------


def test_a_disabled_plugin_is_not_even_imported(install):
    install("noisy", "raise SystemExit('imported')")
    install("quiet", GOOD.format(name="quiet-one"), plugin="silence")
    catalog = discover(disabled=["noisy", "silence"])
    assert report_of(catalog, "noisy").status == report_of(catalog, "silence").status == "disabled"
    assert report_of(catalog, "noisy").reason == "by --disable-plugin"
    assert "quiet-one" not in names(catalog.learners)
    assert "noisy_module" not in sys.modules


def test_a_distribution_is_disabled_whole(install):
    install("north", GOOD.format(name="pa"))
    catalog = discover(disabled=[BUILT_IN])
    assert catalog.learner("pa").origin.distribution == "north"
    assert not catalog.metrics


def test_disabling_what_is_not_there_is_an_error(install):
    with pytest.raises(UnknownName, match=r"--disable-plugin 'protoype' matches no plugin; known: .*prototype"):
        discover(disabled=["protoype"])


def test_strict_mode_makes_an_error_of_a_broken_plugin(install, monkeypatch):
    install("raises", "raise RuntimeError('no luck')", version="0.7")
    monkeypatch.setenv("HARNESS_STRICT_PLUGINS", "1")
    with pytest.raises(HarnessError, match=r"HARNESS_STRICT_PLUGINS.*\n +raises \(raises 0.7\): RuntimeError: no luck"):
        discover()
    assert discover(disabled=["raises"]).learner("pa")
    monkeypatch.setenv("HARNESS_STRICT_PLUGINS", "0")
    assert discover().learner("pa")


def test_strict_mode_makes_an_error_of_a_conflict(install, monkeypatch):
    install("copycat", GOOD.format(name="pa"))
    monkeypatch.setenv("HARNESS_STRICT_PLUGINS", "1")
    with pytest.raises(HarnessError, match="'pa' is also given by"):
        discover()


# -- a folder of plugins ---------------------------------------------------------------------------------------------


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


def test_a_broken_module_of_a_folder_leaves_the_rest_alone(folder):
    (folder / "bad_module.py").write_text("1 / 0")
    (folder / "dangling_module.py").symlink_to(folder / "nowhere.py")
    (folder / "folder_module.py").mkdir()
    (folder / "good_module.py").write_text(GOOD.format(name="good-one"))
    catalog = discover([folder])
    assert report_of(catalog, "bad_module").reason == "ZeroDivisionError: division by zero"
    assert report_of(catalog, "dangling_module").status == "broken"
    assert catalog.learner("good-one")


def test_a_module_of_a_folder_that_means_no_hook_is_not_broken(folder, monkeypatch):
    monkeypatch.setenv("HARNESS_STRICT_PLUGINS", "1")
    (folder / "beside_module.py").write_text("class Learner: ...")
    report = report_of(discover([folder]), "beside_module")
    assert (report.status, report.reason) == ("no hooks", "")


@pytest.mark.parametrize("case", ["unmarked", "empty"])
def test_a_module_of_a_folder_with_an_idle_hook_is_broken(folder, case):
    source, reason = BROKEN[case]
    (folder / f"idle_{case}.py").write_text(source)
    report = report_of(discover([folder]), f"idle_{case}")
    assert report.status == "broken"
    assert reason in report.reason


def test_the_version_of_a_folders_plugin_is_its_content(folder):
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


def test_where_a_folder_lies_is_no_part_of_a_plugins_origin(folder, tmp_path, monkeypatch):
    (folder / "moving_module.py").write_text(GOOD.format(name="mover"))
    absolute = discover([folder]).learner("mover").origin
    monkeypatch.chdir(tmp_path)
    relative = discover([folder.relative_to(tmp_path)]).learner("mover").origin
    assert absolute == relative


def test_a_folder_given_twice_counts_once(folder):
    (folder / "single_module.py").write_text(GOOD.format(name="single"))
    assert discover([folder, folder / ".." / folder.name]).learner("single")


def test_a_module_called_like_another_is_told_to_be_renamed(folder, tmp_path):
    (folder / "json.py").write_text(GOOD.format(name="shadow"))
    (folder / "twice_module.py").write_text(GOOD.format(name="first"))
    second = tmp_path / "second"
    second.mkdir()
    (second / "twice_module.py").write_text(GOOD.format(name="second"))
    catalog = discover([folder, second])
    assert "another module is called 'json'" in report_of(catalog, "json").reason
    reports = [r for r in catalog.plugins if r.origin.plugin == "twice_module"]
    assert [r.status for r in reports] == ["ok", "broken"]
    assert "another module is called 'twice_module'" in reports[1].reason
    assert names(catalog.learners, "twice_module.py") == ["first"]


def test_a_missing_folder_is_an_error(tmp_path):
    with pytest.raises(HarnessError, match=r"--plugins-dir .*nowhere: there is no such folder"):
        discover([tmp_path / "nowhere"])
