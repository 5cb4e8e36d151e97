"""Shell completion through the real protocol, for commands, learners and datasets, without importing a learner."""

import pytest


@pytest.fixture
def complete(harness):
    """Return the completions of the words, without their kind."""

    def ask(*words, shell="bash", python=()):
        env = {
            "_HARNESS_COMPLETE": f"{shell}_complete",
            "COMP_WORDS": " ".join(["harness", *words]),
            "COMP_CWORD": str(len(words)),
        }
        return harness(module=False, env=env, python=python)

    return ask


def values(ended):
    assert ended.returncode == 0, ended.stderr
    return [line.partition(",")[2] for line in ended.stdout.splitlines() if line.startswith("plain,")]


def test_commands_are_completed(complete):
    assert set(values(complete(""))) >= {"run", "table", "list", "plugins", "check", "completion"}
    assert values(complete("ta")) == ["table"]


def test_options_are_completed(complete):
    assert values(complete("run", "--lear")) == ["--learners"]
    assert set(values(complete("table", "--m"))) == {"--metrics", "--mixed-machines", "--matrix"}


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["run", "--learners", ""], {"pa"}),
        (["run", "--learners", "p"], {"pa"}),
        (["run", "--learners", "pa,"], {"pa,pa"}),
        (["run", "--learners", "small=pa(C=0.1),p"], {"small=pa(C=0.1),pa"}),
        (["run", "--datasets", ""], {"icd10cm", "digits", "topics"}),
        (["run", "--datasets", "digits,i"], {"digits,icd10cm"}),
        (["run", "--metrics", "r1,pe"], {"r1,peak"}),
        (["run", "pa"], {"pa-steps"}),
        (["check", "di"], {"digits"}),
        (["list", "ex"], {"experiments"}),
        (["table", "results", "--format", "m"], {"markdown"}),
        (["completion", "z"], {"zsh"}),
    ],
    ids=lambda words: " ".join(words) if isinstance(words, list) else "",
)
def test_names_are_completed(complete, words, expected):
    assert set(values(complete(*words))) >= expected


def test_an_unknown_prefix_has_no_completions(complete):
    assert values(complete("run", "--learners", "zzz")) == []


def test_a_dataset_may_also_be_a_file_or_a_folder(complete, tmp_path):
    (tmp_path / "digraphs").mkdir()
    (tmp_path / "digest.csv").touch()
    (tmp_path / "digest").touch()  # bare, it would be the name of a dataset
    assert values(complete("run", "--data", "di")) == ["directory", "digits", "digest.csv", "digraphs/"]
    assert values(complete("run", "--data", "icd10cm,dige")) == ["icd10cm,digest.csv"]
    assert complete("run", "--data", "tit").stdout.splitlines() == ["file,tit"]  # the shell completes paths itself


def test_an_experiment_may_also_be_a_file(complete):
    assert complete("run", "").stdout.splitlines()[0] == "file,"


def test_plugins_of_a_folder_are_completed_too(complete, tmp_path):
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "other.py").write_text(
        "print('noise')\nfrom harness import LearnerSpec, hookimpl\n@hookimpl\ndef harness_learners():\n"
        "    return [LearnerSpec(name='other-one', load='a:B')]\n"
    )
    words = ["run", "--plugins-dir", str(tmp_path / "more"), "--learners", "o"]
    assert "other-one" in values(complete(*words))
    without = ["run", "--disable-plugin", "prototype", "--learners", ""]
    assert "pa" not in values(complete(*without))


def test_options_that_cannot_be_parsed_do_not_break_completion(complete):
    ended = complete("run", "--plugins-dir", "/no/such/folder", "--learners", "")
    assert (ended.returncode, ended.stdout.strip(), ended.stderr) == (0, "", "")


@pytest.mark.parametrize(
    "words", [["ru"], ["run", "--learners", "p"], ["run", "--datasets", "d"], ["check", "pa"]], ids=" ".join
)
def test_no_learner_and_no_heavy_module_is_imported(complete, heavy_imports, words):
    ended = complete(*words, python=["-X", "importtime"])
    assert values(ended)
    heavy = heavy_imports(ended.stderr)
    if words[0].startswith("ru"):  # the fields of pydantic models declare the flags of `harness run`
        heavy = [name for name in heavy if not name.startswith("pydantic")]
    assert heavy == []


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_for_a_shell_is_printed(harness, shell):
    ended = harness("completion", shell)
    assert ended.returncode == 0
    assert f"_HARNESS_COMPLETE={shell}_complete" in ended.stdout


def test_help_texts_are_sent_to_shells_that_show_them(complete):
    assert "passive-aggressive" in complete("run", "--learners", "p", shell="zsh").stdout
