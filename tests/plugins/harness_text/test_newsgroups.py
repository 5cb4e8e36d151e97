"""20 Newsgroups: the archive, message text, taxonomy, split, and rejected input."""

import gzip
import os
import pickle
import tarfile
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from sklearn.datasets import load_files
from sklearn.datasets._twenty_newsgroups import (  # the oracle
    strip_newsgroup_footer,
    strip_newsgroup_header,
    strip_newsgroup_quoting,
)
from sklearn.feature_extraction.text import CountVectorizer

from harness.errors import DataError
from harness_text import newsgroups
from internals import discover, folder_of, patch_internal
from messages import assert_names, naming
from word_counts import counts_of

MESSAGES = {
    "20news-bydate-train/comp.graphics/101": b"From: someone\nSubject: Rays\n\nTracing rays, tracing the rays.\n",
    "20news-bydate-train/rec.autos/9": b"From: other\n\nEngines and rays\n\nengines\n",
    "20news-bydate-test/comp.graphics/102": b"From: someone\r\n\r\nTracing \xfcber engines\r\n",
    "20news-bydate-test/comp.windows.x/5": b"Subject: no empty line after this",
}


def load(path, **more):
    return newsgroups.load_newsgroups(source=str(path), **{"min_df": 1, **more})


def test_rows_are_the_training_part_then_the_test_part_each_by_group(pack):
    data = load(pack(MESSAGES))
    assert data.class_names == ("comp.graphics", "comp.windows.x", "rec.autos")
    assert data.y.tolist() == [0, 2, 0, 1]
    train, test = data.splits["bydate"]
    assert (train.tolist(), test.tolist()) == ([0, 1], [2, 3])


def test_words_have_at_least_two_letters_and_stop_words_are_removed(pack):
    data = load(pack(MESSAGES))
    # ber (the a-z part of a word with another letter), engines, rays, tracing
    assert counts_of(data).toarray().tolist() == [[0, 0, 2, 2], [0, 2, 1, 0], [1, 1, 0, 1], [0, 0, 0, 0]]


def test_stop_words_and_digits_are_kept_on_request(pack):
    path = pack({**MESSAGES, "20news-bydate-train/rec.autos/10": b"From: x\n\nthe V8 engines\n"})
    assert counts_of(load(path)).shape[1] == 4
    assert counts_of(load(path, stop_words=False)).shape[1] == 6  # and, the
    assert counts_of(load(path, stop_words=False, tokens="alphanumeric")).shape[1] == 7  # v8
    with pytest.raises(DataError, match="tokens"):
        load(path, tokens="bytes")


def test_scikit_learn_tokens_equal_those_of_its_vectorizer(pack):
    message = "From: x\n\nÜber the V8_engine é 1a\n".encode("latin-1")
    path = pack({**MESSAGES, "20news-bydate-train/rec.autos/10": message})
    data = load(path, headers="keep", stop_words=False, tokens="scikit-learn")
    texts = [message.text for message in newsgroups.read_messages(str(path))]
    assert_array_equal(counts_of(data).toarray(), CountVectorizer().fit_transform(texts).toarray())


def test_headers_end_at_the_first_empty_line_and_can_be_kept(pack):
    path = pack(MESSAGES)
    assert counts_of(load(path))[[3]].nnz == 0
    assert counts_of(load(path, headers="keep"))[[3]].nnz > 0
    assert counts_of(load(path, headers="keep")).shape[1] > counts_of(load(path)).shape[1]


def test_words_of_few_messages_get_no_column(pack):
    assert counts_of(load(pack(MESSAGES), min_df=2)).shape == (4, 3)
    assert counts_of(load(pack(MESSAGES), min_df=3)).shape == (4, 0)


def test_the_taxonomy_has_the_first_part_of_the_name_above_the_group(pack):
    tree = load(pack(MESSAGES)).taxonomy
    assert tree.node_names == ("newsgroups", "comp", "rec", "comp.graphics", "comp.windows.x", "rec.autos")
    assert tree.parent.tolist() == [-1, 0, 0, 1, 1, 2]
    assert tree.class_node.tolist() == [3, 4, 5]


def test_the_taxonomy_by_subject_joins_religion_and_politics():
    groups = ["alt.atheism", "comp.graphics", "misc.forsale", "soc.religion.christian", "talk.politics.guns"]
    tree = newsgroups.tree_of([*groups, "talk.religion.misc"], "subject")
    assert tree.node_names[1:5] == ("comp", "forsale", "politics", "religion")
    above = [tree.node_names[tree.parent[node]] for node in tree.class_node]
    assert above == ["religion", "comp", "forsale", "religion", "politics", "religion"]


lines = st.lists(
    st.sampled_from(["word", "", "--", "> quoted", "a wrote:", "|", " ", "In article x", "--\t"]), max_size=8
)


@given(lines.map("\n".join))
def test_footers_and_quotes_are_stripped_as_in_scikit_learn(text):
    assert newsgroups.text_of_message(text, "keep", "strip", "keep") == strip_newsgroup_footer(text)
    assert newsgroups.text_of_message(text, "keep", "keep", "strip") == strip_newsgroup_quoting(text)
    assert newsgroups.text_of_message(text, "strip", "keep", "keep") == strip_newsgroup_header(text)
    everything = strip_newsgroup_quoting(strip_newsgroup_footer(strip_newsgroup_header(text)))
    assert newsgroups.text_of_message(text, "strip", "strip", "strip") == everything


def test_the_unpacked_folder_gives_the_same_data_as_the_archive(pack, lay):
    packed, plain = load(pack(MESSAGES)), load(lay(MESSAGES))
    unzipped = load(pack({f"./{name}": text for name, text in MESSAGES.items()}, "plain.tar", "w"))
    for other in (plain, unzipped):
        assert (counts_of(packed) != counts_of(other)).nnz == 0
        assert packed.y.tolist() == other.y.tolist()


def cached(folder):
    """Write the cache file that scikit-learn's fetcher makes of these folders."""
    parts = {part: load_files(folder / f"20news-bydate-{part}", encoding="latin1") for part in ("train", "test")}
    return zlib.compress(pickle.dumps(parts))


def test_scikit_learns_cached_copy_gives_the_same_data(pack, lay, tmp_path, monkeypatch):
    packed, content = load(pack(MESSAGES)), cached(lay(MESSAGES))
    (tmp_path / newsgroups.CACHE_FILE).write_bytes(content)
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path))
    for source in (tmp_path / newsgroups.CACHE_FILE, newsgroups.SCIKIT_LEARN):
        kept = load(source)
        assert (counts_of(packed) != counts_of(kept)).nnz == 0
        assert (packed.y.tolist(), packed.found) == (kept.y.tolist(), kept.found)
    named = str(tmp_path / newsgroups.CACHE_FILE)
    assert newsgroups.stamp_newsgroups(source=newsgroups.SCIKIT_LEARN) == newsgroups.stamp_newsgroups(source=named)


class Harmful:
    def __reduce__(self):
        return os.system, ("true",)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (zlib.compress(pickle.dumps({"train": Harmful(), "test": {}})), "which scikit-learn's copy does not"),
        (zlib.compress(pickle.dumps({"train": {}})), "KeyError"),
        (zlib.compress(pickle.dumps([1]))[:-3], "it is torn"),
        (b"no such file", "error: Error -3"),
    ],
)
def test_another_pickle_is_rejected_and_never_executed(tmp_path, content, reason):
    path = tmp_path / newsgroups.CACHE_FILE
    path.write_bytes(content)
    with pytest.raises(DataError, match=naming("20news-bydate_py3.pkz", f"{reason}")):
        load(path)


def test_a_duplicate_message_is_rejected(lay):
    folder = lay(MESSAGES)
    (folder / newsgroups.CACHE_FILE).write_bytes(cached(folder))
    with pytest.raises(DataError, match=naming("message", "twice")):
        load(folder)


def test_other_files_next_to_the_messages_are_ignored(pack):
    more = {"README": b"x", "20news-bydate-train/.DS_Store": b"x", "20news-bydate-train/rec.autos/._9": b"x"}
    assert counts_of(load(pack(MESSAGES | more))).shape[0] == len(MESSAGES)


def test_found_counts_are_reported_next_to_the_described_counts(pack):
    assert load(pack(MESSAGES)).found == ("2 (described as 11,314) + 2 (described as 7,532) messages, 3 groups")


def test_without_a_source_the_data_home_is_searched(pack, monkeypatch, tmp_path):
    monkeypatch.setenv("HARNESS_DATA_HOME", str(tmp_path / "home"))
    (tmp_path / "home" / "raw" / "newsgroups").mkdir(parents=True)
    pack(MESSAGES).rename(tmp_path / "home" / "raw" / "newsgroups" / newsgroups.RAW.archive)
    assert counts_of(newsgroups.load_newsgroups()).shape[0] == len(MESSAGES)


def test_parsed_data_are_renewed_when_the_source_changes(lay):
    folder = lay(MESSAGES)
    entry = discover().dataset("newsgroups")
    params = {"source": str(folder), "headers": "strip", "min_df": 2}
    before = folder_of(entry, params)
    assert folder_of(entry, params) == before
    message = folder / next(iter(MESSAGES))
    os.utime(message, ns=(0, message.stat().st_mtime_ns + 1))
    assert folder_of(entry, params) != before


# -- what is refused -------------------------------------------------------------------------------------------------


def refusal(path):
    with pytest.raises(DataError) as caught:
        load(path)
    text = str(caught.value)
    assert text.startswith("dataset 'newsgroups': ")
    assert_names(text, "20news-bydate.tar.gz")
    assert_names(text, "--set", "newsgroups.source=", "PATH")
    return text


def test_without_a_source_the_error_names_the_file_its_origin_and_the_option(tmp_path, monkeypatch):
    monkeypatch.setenv("HARNESS_DATA_HOME", str(tmp_path))
    for ask in (newsgroups.load_newsgroups, newsgroups.stamp_newsgroups):
        with pytest.raises(DataError, match=naming("raw/newsgroups", "20news-bydate")):
            ask()
    assert_names(refusal(tmp_path / "nowhere.tar.gz"), "nowhere.tar.gz")


def member(name, kind, target=""):
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("/etc/passwd", b"x", "'/etc/passwd' would leave the folder"),
        ("20news-bydate-train/../../x", b"x", "would leave the folder"),
        ("20news-bydate-train/a/1", member("20news-bydate-train/a/1", tarfile.SYMTYPE, "/etc/passwd"), "is a link"),
        ("20news-bydate-train/a/1", member("20news-bydate-train/a/1", tarfile.LNKTYPE, "b"), "is a link"),
        ("20news-bydate-train/a/1", member("20news-bydate-train/a/1", tarfile.FIFOTYPE), "is a link or device"),
    ],
)
def test_archives_with_unsafe_members_are_rejected(pack, name, content, reason):
    assert reason in refusal(pack(MESSAGES | {name: content}))


def test_an_archive_that_unpacks_to_too_much_is_rejected(pack, monkeypatch):
    patch_internal(monkeypatch, "raw_files.MOST_BYTES", 2**21)
    path = pack(MESSAGES | {"20news-bydate-train/rec.autos/10": bytes(2**22)})
    assert path.stat().st_size < 2**16
    assert_names(refusal(path), "2,097,152")


def test_another_archive_is_rejected(pack, lay):
    assert_names(refusal(pack({"20_newsgroups/alt.atheism/1": b"x"})), "files")
    assert_names(refusal(lay({"readme.txt": b"x"})), "files")


@pytest.mark.parametrize("content", [b"", b"not an archive", gzip.compress(b"not an archive", mtime=0)])
def test_a_file_that_is_no_archive_is_rejected(tmp_path, content):
    path = tmp_path / "file"
    path.write_bytes(content)
    assert_names(refusal(path), f"{path}", "ReadError")


def test_a_truncated_archive_is_rejected(pack):
    path = pack(MESSAGES)
    path.write_bytes(path.read_bytes()[:-20])
    assert_names(refusal(path), "EOFError")


def test_invalid_parameter_values_are_rejected(pack):
    for name in ("headers", "footers", "quotes"):
        with pytest.raises(DataError, match=naming(f"{name}", "some")):
            load(pack(MESSAGES), **{name: "some"})
    with pytest.raises(DataError, match=naming("taxonomy", "five")):
        load(pack(MESSAGES), taxonomy="five")
