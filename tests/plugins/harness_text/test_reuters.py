"""Reuters-21578: irregular SGML, the three subsets, and rejected input."""

import pytest

from harness.errors import DataError
from harness_text import reuters
from messages import assert_names, naming
from word_counts import counts_of

PREAMBLE = '<!DOCTYPE lewis SYSTEM "lewis.dtd">\n'


def story(topics, text, *, split="TRAIN", has_topics="YES", kind=""):
    listed = "".join(f"<D>{topic}</D>" for topic in topics.split())
    return (
        f'<REUTERS TOPICS="{has_topics}" LEWISSPLIT="{split}" CGISPLIT="TRAINING-SET" OLDID="1" NEWID="1">\n'
        f"<DATE>26-FEB-1987</DATE>\n<TOPICS>{listed}</TOPICS>\n<PLACES><D>usa</D></PLACES>\n"
        f"<UNKNOWN> \n&#5;&#5;&#5;C T\n</UNKNOWN>\n<TEXT{kind}>&#2;\n{text}\n</TEXT>\n</REUTERS>\n"
    )


def page(title, body):
    return f"<TITLE>{title}</TITLE>\n<AUTHOR>By Nobody</AUTHOR>\n<DATELINE>SALVADOR - </DATELINE><BODY>{body}</BODY>"


COLLECTION = {
    "reut2-000.sgm": PREAMBLE
    + story("earn", page("Profit up", "Profit rose at &lt;Foo Corp> Reuter\n&#3;"))
    + story("grain wheat", page("Wheat", "Wheat harvest"))
    + story("grain wheat wheat", page("Wheat", "Harvest"), split="TEST")
    + story("", page("Nothing", "Nothing at all")),
    "reut2-001.sgm": PREAMBLE
    + story("earn", "<TITLE>Profit\n flash</TITLE>", kind=' TYPE="BRIEF"', split="TEST")
    + story("grain", "******grain&#127;shipments", kind=' TYPE="UNPROC"', split="TEST")
    + story("earn", page("Unused", "unused"), split="NOT-USED", has_topics="YES")
    + story("gold", page("Gold", "gold only trained"))
    + story("earn", page("Bypassed", "bypassed"), has_topics="BYPASS"),
}


def raw_bytes(collection):
    return {name: text.encode("latin-1") for name, text in collection.items()}


@pytest.fixture
def source(pack):
    return str(pack(raw_bytes(COLLECTION) | {"README.txt": b"about", "lewis.dtd": b"<!ELEMENT>"}))


def read(text):
    return list(reuters.read_stories("reut2-000.sgm", text))


# -- SGML ------------------------------------------------------------------------------------------------------------


def test_the_text_of_a_story_is_its_title_and_body():
    (only,) = read(story("earn", page("A title", "The body")))
    assert only.text == "A title\nThe body"


def test_entities_are_decoded_and_control_characters_separate_words():
    (only,) = read(story("earn", page("AT&amp;T", "&lt;Foo Corp> one&#127;two &#3;")))
    assert only.text == "AT&T\n<Foo Corp> one two  "


def test_the_text_of_a_brief_story_is_its_title():
    (only,) = read(story("earn", "<TITLE>Only a title</TITLE>\nmore", kind=' TYPE="BRIEF"'))
    assert only.text == "Only a title"


def test_the_text_of_an_unprocessed_story_is_all_its_text():
    (only,) = read(story("earn", "no mark-up at all", kind=' TYPE="UNPROC"'))
    assert only.text.split() == ["no", "mark-up", "at", "all"]


def test_topics_are_the_distinct_entries_of_the_topics_element():
    first, second = read(story("grain wheat wheat", "x") + story("", "x"))
    assert first.topics == {"grain", "wheat"}
    assert second.topics == frozenset()


@pytest.mark.parametrize(
    ("split", "has_topics", "part"),
    [("TRAIN", "YES", "train"), ("TEST", "YES", "test"), ("NOT-USED", "YES", None), ("TRAIN", "NO", None)],
)
def test_the_modapte_part_takes_stories_with_assigned_topics(split, has_topics, part):
    (only,) = read(story("earn", "x", split=split, has_topics=has_topics))
    assert only.part == part


@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        (story("earn", "x").replace("</REUTERS>", ""), "has no </REUTERS>"),
        (story("earn", "x").replace("LEWISSPLIT", "SPLIT"), "has no LEWISSPLIT and TOPICS"),
        (story("earn", "x").replace("</TOPICS>", ""), "has no TOPICS element"),
        (story("earn", "x").replace("</TEXT>", ""), "has no TEXT element"),
        (story("earn", "x")[:60], "has no </REUTERS>"),
    ],
)
def test_a_malformed_document_raises_an_error_with_file_and_line(broken, reason):
    for text in (PREAMBLE + story("earn", "x") + broken + story("earn", "x"), PREAMBLE + story("earn", "x") + broken):
        with pytest.raises(DataError) as caught:
            read(text)
        assert_names(str(caught.value), "reut2-000.sgm", "13", f"{reason}")


# -- subsets ---------------------------------------------------------------------------------------------------------


def test_a_story_with_several_of_the_largest_topics_keeps_the_rarest(source):
    data = reuters.load_reuters21578(source=source)
    assert data.class_names == ("earn", "gold", "grain", "wheat")
    assert [data.class_names[label] for label in data.y] == [
        *("earn", "wheat", "wheat"),
        *("earn", "grain", "earn", "gold", "earn"),
    ]
    assert not data.splits


def test_only_the_ten_largest_topics_are_classes(pack):
    many = "".join(story(f"t{i} t{i + 1}" if i < 11 else f"t{i}", "same words") for i in range(12))
    data = reuters.load_reuters21578(source=str(pack(raw_bytes({"reut2-000.sgm": many}))))
    # t1 to t11 have two stories each and t0 one; ties go to the first by name: all but t9
    assert data.class_names == ("t1", "t10", "t11", "t2", "t3", "t4", "t5", "t6", "t7", "t8")


def test_modapte90_keeps_all_labels_of_topics_in_both_parts(source):
    data = reuters.load_reuters21578(source=source, subset="modapte90")
    assert data.class_names == ("earn", "grain", "wheat")  # gold has no test story
    assert data.y.toarray().tolist() == [[1, 0, 0], [0, 1, 1], [0, 1, 1], [1, 0, 0], [0, 1, 0]]
    train, test = data.splits["modapte"]
    assert (train.tolist(), test.tolist()) == ([0, 1], [2, 3, 4])


def test_r52_keeps_stories_with_one_topic_that_occurs_alone_in_both_parts(source, pack):
    with pytest.raises(DataError, match=naming("9", "1", "r52")):
        reuters.load_reuters21578(source=source, subset="r52")  # only earn is a single topic in both parts
    more = story("gold", page("Gold", "sold"), split="TEST") + story("grain", page("Grain", "sown"))
    data = reuters.load_reuters21578(
        source=str(pack(raw_bytes(COLLECTION | {"reut2-002.sgm": more}), "more.tar.gz")), subset="r52"
    )
    assert data.class_names == ("earn", "gold", "grain")
    assert [data.class_names[label] for label in data.y] == ["earn", "earn", "grain", "gold", "gold", "grain"]
    train, test = data.splits["modapte"]
    assert (train.tolist(), test.tolist()) == ([0, 3, 5], [1, 2, 4])


def test_words_of_few_stories_in_the_subset_get_no_column(source):
    assert (
        counts_of(reuters.load_reuters21578(source=source, min_df=2)).shape[1]
        < counts_of(reuters.load_reuters21578(source=source)).shape[1]
    )


def test_a_folder_gives_the_same_data_as_the_archive(source, lay):
    packed, plain = (
        reuters.load_reuters21578(source=source),
        reuters.load_reuters21578(source=str(lay(raw_bytes(COLLECTION)))),
    )
    assert (counts_of(packed) != counts_of(plain)).nnz == 0
    assert packed.found == plain.found
    assert_names(packed.found, "8", "9", "3", "ModApte", "4")


def test_unusable_files_raise_an_error(source, lay, pack):
    with pytest.raises(DataError, match=naming("r8", "top10", "modapte90", "r52")):
        reuters.load_reuters21578(source=source, subset="r8")
    with pytest.raises(DataError, match=naming("reuters21578.tar.gz")):
        reuters.load_reuters21578()
    with pytest.raises(DataError, match=naming("files")):
        reuters.load_reuters21578(source=str(lay({"README.txt": b"about"})))
    with pytest.raises(DataError, match=naming("folder")):
        reuters.load_reuters21578(source=str(pack({"../reut2-000.sgm": b""}, "bad.tar.gz")))
    with pytest.raises(DataError, match="0 stories give 0 topics"):
        reuters.load_reuters21578(source=str(pack({"reut2-000.sgm": b""}, "empty.tar.gz")))


def test_stop_words_are_kept_on_request(source):
    without = counts_of(reuters.load_reuters21578(source=source))
    with_them = counts_of(reuters.load_reuters21578(source=source, stop_words=False))
    assert with_them.shape[1] > without.shape[1]
    assert with_them.sum() > without.sum()
