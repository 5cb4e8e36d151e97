"""Isolet: MATLAB and comma-separated files give the same rows, the fifth group is the test set, bad files are named."""

import io
import zipfile

import numpy as np
import pytest
from scipy.io import savemat

from harness.errors import DataError
from harness_vectors import isolet
from harness_vectors.plugin import harness_datasets
from messages import naming

GROUPS = "12345"


def made(group, letters=(1, 1, 2, 26)):
    """Return measurements that float32 and the text format represent exactly, and the letters."""
    rng = np.random.default_rng(int(group))
    return rng.integers(-64, 65, (len(letters), 617)) / 64, np.array(letters)


def matlab(X, letters):
    file = io.BytesIO()
    savemat(file, {"fea": X, "gnd": letters[:, np.newaxis].astype(np.uint8)})
    return file.getvalue()


def text(*tables):
    """Format as UCI does: `-.4375, 0.0, 1., ... , 26.`"""
    rows = [(x, y) for X, letters in tables for x, y in zip(X, letters, strict=True)]
    lines = [", ".join([*(f"{value:.6f}" for value in x), f"{y}."]) for x, y in rows]
    return ("\n".join(lines) + "\n").encode()


def compressed(content):
    """Return the bytes in the simplest form of Unix `compress`.

    Each byte is one nine-bit code. Code 256 clears the code table before codes grow beyond nine bits; it is always the
    last of eight codes, because the format aligns there.
    """
    codes = [code for i in range(0, len(content), 247) for code in (*content[i : i + 247], 256)]
    codes.pop()
    bits = "".join(f"{code:09b}"[::-1] for code in codes)
    bits += "0" * (-len(bits) % 8)
    return b"\x1f\x9d\x90" + bytes(int(bits[i : i + 8][::-1], 2) for i in range(0, len(bits), 8))


def mat_files():
    return {f"Isolet{group}.mat" if group != "5" else "isolet5.mat": matlab(*made(group)) for group in GROUPS}


def uci_files(pack=lambda content: content, suffix=""):
    train = text(*(made(group) for group in "1234"))
    return {f"isolet1+2+3+4.data{suffix}": pack(train), f"isolet5.data{suffix}": pack(text(made("5")))}


def test_rows_are_the_measurements_group_by_group(lay):
    data = isolet.load_isolet(source=lay(mat_files()))
    expected = np.concatenate([made(group)[0] for group in GROUPS])
    assert data.X.toarray().tolist() == expected.tolist()
    assert data.X.dtype == np.float32
    assert "".join(data.class_names[label] for label in data.y) == "aabz" * 5
    assert data.found == "16 + 4 utterances of 3 letters, 617 features"


def test_the_fifth_group_of_speakers_is_the_test_set(lay):
    train, test = isolet.load_isolet(source=lay(mat_files())).splits["speakers"]
    assert train.tolist() == list(range(16))
    assert test.tolist() == list(range(16, 20))


@pytest.mark.parametrize("form", ["text", "compressed", "zip", "zip of compressed"])
def test_the_files_of_the_uci_repository_give_the_same_data(lay, tmp_path, form):
    files = uci_files(compressed, ".Z") if "compressed" in form else uci_files()
    source = lay(files, "uci")
    if "zip" in form:
        source = str(tmp_path / "isolet.zip")
        with zipfile.ZipFile(source, "w") as archive:
            for name, content in files.items():
                archive.writestr(name, content)
            archive.writestr("isolet.names", "what the columns mean")
    one, other = isolet.load_isolet(source=source), isolet.load_isolet(source=lay(mat_files(), "mat"))
    assert (one.X != other.X).nnz == 0
    assert one.y.tolist() == other.y.tolist()
    assert one.found == other.found


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"Isolet3.mat": None}, "found Isolet1.mat, .*; expected each of the five groups once, as in isolet.zip from"),
        (uci_files(), "found Isolet1.mat, .*expected each of the five groups once"),
        ({"Isolet2.mat": b"MATLAB no more"}, r"Isolet2\.mat cannot be read \("),
        ({"Isolet2.mat": matlab(*made("2"))[:-900]}, r"Isolet2\.mat cannot be read \("),
        ({"Isolet2.mat": matlab(np.ones((4, 616)), np.ones(4))}, r"shape \(4, 616\) and 4 letters; expected 617"),
        ({"Isolet2.mat": matlab(np.ones((4, 617)), np.ones(3))}, r"shape \(4, 617\) and 3 letters; expected 617"),
        ({"Isolet2.mat": matlab(*made("2", (0, 1)))}, "has letters other than the numbers 1 to 26"),
    ],
)
def test_files_of_the_wrong_shape_raise_an_error_that_names_them(lay, change, message):
    files = {name: content for name, content in (mat_files() | change).items() if content is not None}
    with pytest.raises(DataError, match=f"^dataset 'isolet': .*{message}"):
        isolet.load_isolet(source=lay(files))


@pytest.mark.parametrize(
    ("train", "message"),
    [
        (b"1, 2, three\n", r"isolet1\+2\+3\+4\.data cannot be read \(ValueError: "),
        (b"1, 2, 3\n", r"shape \(1, 2\) and 1 letters; expected 617"),
        (b" \n", "the file is empty"),
    ],
)
def test_text_of_the_wrong_shape_raises_an_error_that_names_it(lay, train, message):
    with pytest.raises(DataError, match=message):
        isolet.load_isolet(source=lay(uci_files() | {"isolet1+2+3+4.data": train}))


def test_a_truncated_compressed_file_raises_an_error_that_names_it(lay):
    files = uci_files(compressed, ".Z") | {"isolet5.data.Z": b"\x1f\x9d"}
    with pytest.raises(DataError, match=naming("isolet5.data.Z")):
        isolet.load_isolet(source=lay(files))


def test_a_file_that_unpacks_to_too_much_is_rejected(lay, monkeypatch):
    monkeypatch.setattr(isolet, "MOST_BYTES", 1000)
    with pytest.raises(DataError, match=naming("1,000")):
        isolet.load_isolet(source=lay(uci_files(compressed, ".Z")))


def test_missing_files_raise_an_error_that_names_them(tmp_path):
    with pytest.raises(DataError, match=naming("isolet.zip", "UCI")):
        isolet.load_isolet(source=str(tmp_path / "nowhere"))


def test_the_stamp_changes_with_the_files(lay):
    source = lay(mat_files())
    before = isolet.RAW.stamp(source=source)
    assert isolet.RAW.stamp(source=source) == before
    lay({"Isolet2.mat": matlab(*made("2", (3, 4, 5)))})
    assert isolet.RAW.stamp(source=source) != before


def test_the_real_files_have_the_known_counts(real):
    data = isolet.load_isolet(source=real("isolet"))
    (spec,) = [spec for spec in harness_datasets() if spec.name == "isolet"]
    assert data.found == "6,238 + 1,559 utterances of 26 letters, 617 features"
    assert spec.facts == {"rows": data.X.shape[0], "features": data.X.shape[1], "classes": np.unique(data.y).size}
    assert (data.X.min(), data.X.max()) == (-1, 1)
    assert set(np.bincount(data.y)) == {298, 299, 300}  # 150 speakers spoke each letter twice; three are missing
