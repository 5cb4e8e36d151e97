"""Registers the text data sets by name; reads nothing."""

from collections.abc import Iterable

from harness import DatasetSpec, hookimpl


@hookimpl
def harness_datasets() -> Iterable[DatasetSpec]:
    """The text data sets."""
    return [
        DatasetSpec(
            name="icd10cm",
            load="harness_text.icd10cm:load",
            stamp="harness_text.icd10cm:stamp",
            summary="diagnosis terms of ICD-10-CM by three-character category, with chapters and sections",
            representation="tfidf",
            licence="ICD-10-CM: published for free use by the U.S. NCHS and CMS (ICD-10 itself: copyright of the WHO); "
            "the package that carries it: MIT",
            citation="National Center for Health Statistics: ICD-10-CM Tabular List of Diseases and Injuries; "
            "as carried by S. Travasci's simple-icd-10-cm, https://github.com/StefanoTrv/simple_icd_10_CM",
        ),
        DatasetSpec(
            name="newsgroups",
            load="harness_text.newsgroups:load",
            stamp="harness_text.newsgroups:stamp",
            summary="20 Newsgroups by date: 18,846 messages by group, with the seven top groups",
            representation="tf",
            licence="messages posted to public newsgroups, passed on for research without a stated licence",
            citation="K. Lang: NewsWeeder: Learning to filter netnews, ICML 1995; "
            "the by-date version: J. Rennie, 20 Newsgroups",
        ),
        DatasetSpec(
            name="reuters21578",
            load="harness_text.reuters:load",
            stamp="harness_text.reuters:stamp",
            summary="Reuters newswire of 1987 by topic: the ten largest (9,400 stories), or 90 with several a story",
            representation="tf",
            licence="copyright of Reuters Ltd. and Carnegie Group; free for research only, to be cited by its name",
            citation="D. D. Lewis: Reuters-21578, Distribution 1.0, 1997",
        ),
        DatasetSpec(
            name="austen",
            load="harness_text.austen:load",
            stamp="harness_text.austen:stamp",
            summary="every word of Jane Austen's six novels, to be told from the three words either side",
            representation="binary",
            version=2,
            licence="public domain; the texts of Project Gutenberg under its own licence",
            citation="J. Austen: the novels of 1811 to 1818, as Project Gutenberg 105, 121, 141, 158, 161 and 1342; "
            "the task: O. Madani and J. Huang: On updates that constrain the features' connections during learning, "
            "KDD 2008",
        ),
    ]
