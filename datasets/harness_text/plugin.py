"""Registers the text datasets by name; reads nothing.

Facts are counts of the data with default parameters: from the papers, from the distributors of the data, or measured.
Hashes are those that scikit-learn checks, or on which two parties agree.
"""

from collections.abc import Iterable

from harness import DatasetSpec, RawFile, hookimpl

_FIGSHARE = "https://ndownloader.figshare.com/files"
"""Folder with scikit-learn's copies."""
_LIBSVM = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/multiclass/sector"
_CLINC = "https://raw.githubusercontent.com/clinc/oos-eval/master/data"
_LEWIS = "http://www.ai.mit.edu/projects/jmlr/papers/volume5/lewis04a"
_NOVELS = {
    "emma": 158,
    "mansfieldpark": 141,
    "northangerabbey": 121,
    "persuasion": 105,
    "prideprejudice": 1342,
    "sensesensibility": 161,
}
"""Jane Austen's novels by their numbers at Project Gutenberg."""
_KDD_2008 = "O. Madani and J. Huang: On updates that constrain the features' connections during learning, KDD 2008"


@hookimpl
def harness_datasets() -> Iterable[DatasetSpec]:
    """Return the text datasets."""
    return [*_texts(), *_newswire(), *_web_pages(), *_dictionaries()]


def _texts() -> Iterable[DatasetSpec]:
    yield DatasetSpec(
        name="newsgroups",
        load="harness_text.newsgroups:load_newsgroups",
        stamp="harness_text.newsgroups:stamp_newsgroups",
        summary="20 Newsgroups by date: 18,846 messages by group, with the seven top groups",
        representation="tf",
        licence="messages posted to public newsgroups, passed on for research without a stated licence",
        citation="K. Lang: NewsWeeder: Learning to filter netnews, ICML 1995; "
        "the by-date version: J. Rennie, 20 Newsgroups",
        files=(
            RawFile(
                name="20news-bydate.tar.gz",
                urls=(f"{_FIGSHARE}/5975967", "http://qwone.com/~jason/20Newsgroups/20news-bydate.tar.gz"),
                sha256="8f1b2514ca22a5ade8fbb9cfa5727df95fa587f4c87b786e15c759fa66d95610",
            ),
        ),
        obtain="20news-bydate.tar.gz from http://qwone.com/~jason/20Newsgroups/, or the file 20news-bydate_py3.pkz "
        "that sklearn.datasets.fetch_20newsgroups() keeps",
        facts={"rows": 18_846, "classes": 20, "taxonomy_depth": 2},
    )
    yield DatasetSpec(
        name="austen",
        load="harness_text.austen:load_austen",
        stamp="harness_text.austen:RAW.stamp",
        summary="every word of Jane Austen's six novels, predicted from the three words on either side",
        representation="binary",
        version=2,
        licence="public domain; the texts of Project Gutenberg under its own licence",
        citation="J. Austen: the novels of 1811 to 1818, as Project Gutenberg 105, 121, 141, 158, 161 and 1342; "
        f"the task: {_KDD_2008}",
        files=tuple(
            RawFile(name=f"{novel}.txt", urls=(f"https://www.gutenberg.org/cache/epub/{number}/pg{number}.txt",))
            for novel, number in _NOVELS.items()
        ),
        obtain="the plain texts of numbers 105, 121, 141, 158, 161 and 1342 from https://www.gutenberg.org",
        # No facts: Project Gutenberg revises its texts, so the number of words depends on the day of the download.
    )
    yield DatasetSpec(
        name="clinc150",
        load="harness_text.clinc:load_clinc150",
        stamp="harness_text.clinc:RAW.stamp",
        summary="22,500 requests to a voice assistant by intent (150), with ten domains",
        representation="tfidf",
        licence="CC BY 3.0",
        citation="S. Larson and others: An evaluation dataset for intent classification and out-of-scope prediction, "
        "EMNLP 2019",
        files=(
            RawFile(
                name="data_full.json",
                urls=(f"{_CLINC}/data_full.json",),
                sha256="36923c3705a59e08fe9c3883d8bc2dd966ef93e22cb78ac41171782a698d56e0",
            ),
            RawFile(name="domains.json", urls=(f"{_CLINC}/domains.json",)),
        ),
        obtain="data_full.json and domains.json from https://github.com/clinc/oos-eval (folder data)",
        facts={"rows": 22_500, "classes": 150, "taxonomy_depth": 2},
    )
    yield DatasetSpec(
        name="wipo-alpha",
        load="harness_text.wipo:load_wipo_alpha",
        stamp="harness_text.wipo:RAW.stamp",
        summary="75,250 patent applications by main group of the IPC, all sections or one of A to H",
        representation="tfidf",
        licence="World Intellectual Property Organization; for research, on request",
        citation="C. Fall, A. Torcsvari, K. Benzineb, G. Karetka: Automated categorization in the International Patent "
        "Classification, SIGIR Forum 2003; the task: L. Cai and T. Hofmann: Hierarchical document categorization with "
        "support vector machines, CIKM 2004",
        obtain="the WIPO-alpha collection (folders train and test of XML files) from the World Intellectual Property "
        "Organization, https://www.wipo.int/classifications/ipc/en/ITsupport/Categorization/dataset/",
        facts={"rows": 75_250, "classes": 4_656, "taxonomy_depth": 4},
    )


def _newswire() -> Iterable[DatasetSpec]:
    yield DatasetSpec(
        name="reuters21578",
        load="harness_text.reuters:load_reuters21578",
        stamp="harness_text.reuters:RAW.stamp",
        summary="Reuters newswire of 1987 by topic: the ten largest (9,400 stories), 90 with several a story, or 52",
        representation="tf",
        licence="copyright of Reuters Ltd. and Carnegie Group; free for research only, to be cited by its name",
        citation="D. D. Lewis: Reuters-21578, Distribution 1.0, 1997",
        files=(
            RawFile(
                name="reuters21578.tar.gz",
                urls=(
                    "http://www.daviddlewis.com/resources/testcollections/reuters21578/reuters21578.tar.gz",
                    "https://archive.ics.uci.edu/ml/machine-learning-databases/reuters21578-mld/reuters21578.tar.gz",
                    "https://kdd.ics.uci.edu/databases/reuters21578/reuters21578.tar.gz",
                ),
            ),
        ),
        obtain="reuters21578.tar.gz from http://www.daviddlewis.com/resources/testcollections/reuters21578/ or from "
        "the UCI repositories",
        facts={"rows": 9_400, "classes": 10},
    )
    vectors = {
        "lyrl2004_vectors_train": (5976057, "5468f656d0ba7a83afc7ad44841cf9a53048a5c083eedc005dcdb5cc768924ae"),
        "lyrl2004_vectors_test_pt0": (5976069, "ed40f7e418d10484091b059703eeb95ae3199fe042891dcec4be6696b9968374"),
        "lyrl2004_vectors_test_pt1": (5976066, "87700668ae45d45d5ca1ef6ae9bd81ab0f5ec88cc95dcef9ae7838f727a13aa6"),
        "lyrl2004_vectors_test_pt2": (5976063, "48143ac703cbe33299f7ae9f4995db49a258690f60e5debbff8995c34841c7f5"),
        "lyrl2004_vectors_test_pt3": (5976060, "dfcb0d658311481523c6e6ca0c3f5a3e1d3d12cde5d7a8ce629a9006ec7dbb39"),
    }
    yield DatasetSpec(
        name="rcv1",
        load="harness_text.rcv1:load_rcv1",
        stamp="harness_text.rcv1:RAW.stamp",
        summary="RCV1-v2: 23,149 newswire stories (or all 804,414) by topic, several a story, with the topics' tree",
        representation="tf",
        licence="the vectors: free for research, to be cited; the stories: Reuters, by agreement with NIST",
        citation="D. D. Lewis, Y. Yang, T. G. Rose, F. Li: RCV1: A new benchmark collection for text categorization "
        "research, JMLR 5, 2004",
        files=(
            *(
                RawFile(
                    name=f"{name}.dat.gz",
                    urls=(f"{_FIGSHARE}/{number}", f"{_LEWIS}/a13-vector-files/{name}.dat.gz"),
                    sha256=sha256,
                )
                for name, (number, sha256) in vectors.items()
            ),
            RawFile(
                name="rcv1-v2.topics.qrels.gz",
                urls=(f"{_FIGSHARE}/5976048", f"{_LEWIS}/a08-topic-qrels/rcv1-v2.topics.qrels.gz"),
                sha256="2a98e5e5d8b770bded93afc8930d88299474317fe14181aee1466cc754d0d1c1",
            ),
            RawFile(name="rcv1.topics.hier.orig", urls=(f"{_LEWIS}/a02-orig-topics-hierarchy/rcv1.topics.hier.orig",)),
        ),
        obtain="the vector files, rcv1-v2.topics.qrels.gz and rcv1.topics.hier.orig from the on-line appendices of "
        "Lewis and others, JMLR 5 (2004), pages 361 to 397",
        facts={"rows": 23_149, "features": 47_236, "classes": 101, "taxonomy_depth": 4},
    )


def _web_pages() -> Iterable[DatasetSpec]:
    yield DatasetSpec(
        name="industry",
        load="harness_text.industry:load_industry",
        stamp="harness_text.industry:RAW.stamp",
        summary="web pages of companies by branch of industry (104), with the tree of sectors",
        representation="tf",
        licence="web pages of their owners, passed on for research without a stated licence",
        citation="A. McCallum, R. Rosenfeld, T. Mitchell, A. Ng: Improving text classification by shrinkage in a "
        "hierarchy of classes, ICML 1998",
        obtain="sector.tar.gz, the industry sector data of Carnegie Mellon's text learning group",
        facts={"classes": 104, "taxonomy_depth": 3},
    )
    yield DatasetSpec(
        name="sector",
        load="harness_text.sector:load_sector",
        stamp="harness_text.sector:RAW.stamp",
        summary="the industry sector pages in LIBSVM's form: 9,619 pages, 105 classes without names",
        representation="tf",
        licence="web pages of their owners, passed on for research without a stated licence",
        citation="J. Rennie and R. Rifkin: Improving multiclass text classification with the support vector machine, "
        "2001; as passed on by C.-C. Chang and C.-J. Lin: LIBSVM Data",
        files=(
            RawFile(name="sector.bz2", urls=(f"{_LIBSVM}/sector.bz2",)),
            RawFile(name="sector.t.bz2", urls=(f"{_LIBSVM}/sector.t.bz2",)),
        ),
        obtain="sector.bz2 and sector.t.bz2 from LIBSVM's page of multi-class data",
        facts={"rows": 9_619, "features": 55_197, "classes": 105},
    )
    challenge = (
        "A. Kosmopoulos, E. Gaussier, G. Paliouras, S. Aseervatham: The ECIR 2010 large scale hierarchical "
        "classification workshop, SIGIR Forum 2010; I. Partalas and others: LSHTC: A benchmark for large-scale text "
        "classification, arXiv:1503.08581"
    )
    yield DatasetSpec(
        name="lshtc1-dryrun",
        load="harness_text.lshtc:load_dry_run",
        stamp="harness_text.lshtc:DRY_RUN.raw.stamp",
        summary="dry run of the first LSHTC challenge: web pages by directory class (1,139), tasks 1 and 2",
        representation="tfidf",
        licence="given out for research by the PASCAL challenge",
        citation=challenge,
        obtain="the dry run of LSHTC1 from the PASCAL challenge: cat_hier.txt, Task1 and Task2",
        # No rows: some copies lack the training part of task 1.
        facts={"classes": 1_139, "taxonomy_depth": 5},
    )
    yield DatasetSpec(
        name="lshtc1",
        load="harness_text.lshtc:load_large",
        stamp="harness_text.lshtc:LARGE.raw.stamp",
        summary="the first LSHTC challenge: web pages by directory class (12,294), tasks 1 and 2",
        representation="tfidf",
        licence="given out for research by the PASCAL challenge",
        citation=challenge,
        obtain="the large data of LSHTC1 from the PASCAL challenge: cat_hier.txt, Task1 and Task2",
        facts={"classes": 12_294},
    )
    yield DatasetSpec(
        name="odp",
        load="harness_text.odp:load_odp",
        stamp="harness_text.odp:RAW.stamp",
        summary="1.6 million pages of the Open Directory by category (105 thousand)",
        representation="tf",
        licence="Open Directory licence",
        citation="P. Bennett and N. Nguyen: Refined experts, SIGIR 2009; the task: A. Choromanska and J. Langford: "
        "Logarithmic time online multiclass prediction, NIPS 2015",
        files=tuple(
            RawFile(name=name, urls=(f"http://hunch.net/~vw/{name}",)) for name in ("odp_train.vw.gz", "odp_test.vw.gz")
        ),
        obtain="odp_train.vw.gz and odp_test.vw.gz from http://hunch.net/~vw/",
        facts={"rows": 1_577_418},
    )


def _dictionaries() -> Iterable[DatasetSpec]:
    yield DatasetSpec(
        name="icd10cm",
        load="harness_text.icd10cm:load_icd10cm",
        stamp="harness_text.icd10cm:stamp_icd10cm",
        summary="diagnosis terms of ICD-10-CM by three-character category, with chapters and sections",
        representation="tfidf",
        licence="ICD-10-CM: published for free use by the U.S. NCHS and CMS (ICD-10 itself: copyright of the WHO); "
        "the package that carries it: MIT",
        citation="National Center for Health Statistics: ICD-10-CM Tabular List of Diseases and Injuries; "
        "as carried by S. Travasci's simple-icd-10-cm, https://github.com/StefanoTrv/simple_icd_10_CM",
        facts={"taxonomy_depth": 3},  # other counts change with the release of the package
    )
    yield DatasetSpec(
        name="wordnet",
        load="harness_text.wordnet:load_wordnet",
        stamp="harness_text.wordnet:RAW.stamp",
        summary="42,253 glosses of WordNet's nouns by hypernym (1,625), in the tree of hypernyms",
        representation="tfidf",
        licence="WordNet 3.0 licence: free use with notice; copyright of Princeton University",
        citation="C. Fellbaum (editor): WordNet: An Electronic Lexical Database, MIT Press 1998; release 3.0, 2006",
        files=(
            RawFile(
                name="wordnet-base_3.0-37_all.deb",
                urls=("https://deb.debian.org/debian/pool/main/w/wordnet/wordnet-base_3.0-37_all.deb",),
            ),
        ),
        obtain="Debian's package wordnet-base 3.0, or data.noun of WNdb-3.0.tar.gz from "
        "https://wordnetcode.princeton.edu/3.0/",
        facts={"rows": 42_253, "classes": 1_625, "taxonomy_depth": 16},
    )
    yield DatasetSpec(
        name="eurlex4k",
        load="harness_text.eurlex:load_eurlex4k",
        stamp="harness_text.eurlex:RAW.stamp",
        summary="19,348 laws of the European Union by EuroVoc descriptor (3,993), several a law",
        representation="tf",
        licence="EUR-Lex: reuse allowed with the source named; as prepared by the Extreme Classification Repository",
        citation="E. Loza Mencia and J. Furnkranz: Efficient pairwise multilabel classification for large-scale "
        "problems in the legal domain, ECML PKDD 2008; K. Bhatia and others: The Extreme Classification Repository",
        obtain="Eurlex-4K (bag-of-words features) from http://manikvarma.org/downloads/XC/XMLRepository.html",
        facts={"rows": 19_348, "features": 5_000, "classes": 3_993},
    )
