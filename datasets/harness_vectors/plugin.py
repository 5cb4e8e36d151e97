"""Registers the datasets of feature vectors by name; reads nothing."""

from collections.abc import Iterable

from harness import DatasetSpec, RawFile, hookimpl

_LIBSVM = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/multiclass"
_UCI = "https://archive.ics.uci.edu/static/public"


@hookimpl
def harness_datasets() -> Iterable[DatasetSpec]:
    """Return the datasets of feature vectors."""
    return [
        DatasetSpec(
            name="digits",
            load="harness_vectors.digits:load_digit_images",
            summary="1,797 handwritten digits of 8 x 8 pixels; few classes, for a quick look",
            representation="tf",
            licence="CC BY 4.0",
            citation="E. Alpaydin, C. Kaynak: Optical Recognition of Handwritten Digits, UCI Machine Learning "
            "Repository, 1998, https://doi.org/10.24432/C50P49; as carried by scikit-learn",
            facts={"rows": 1_797, "features": 64, "classes": 10},
        ),
        DatasetSpec(
            name="isolet",
            load="harness_vectors.isolet:load_isolet",
            stamp="harness_vectors.isolet:RAW.stamp",
            summary="7,797 spoken letters in 617 measurements; thirty speakers set apart for the test",
            representation="tf",
            licence="CC BY 4.0",
            citation="R. Cole, M. Fanty: ISOLET, UCI Machine Learning Repository, 1991, "
            "https://doi.org/10.24432/C51G69",
            files=(RawFile(name="isolet.zip", urls=(f"{_UCI}/54/isolet.zip",)),),
            obtain="isolet.zip from the UCI Machine Learning Repository (dataset 54), or its files "
            "isolet1+2+3+4.data and isolet5.data, or Isolet1.mat to Isolet5.mat with the variables fea and gnd",
            facts={"rows": 7_797, "features": 617, "classes": 26},
        ),
        DatasetSpec(
            name="aloi",
            load="harness_vectors.aloi:load_aloi",
            stamp="harness_vectors.aloi:RAW.stamp",
            summary="108,000 pictures of 1,000 small objects in 128 features",
            representation="tf",
            licence="no licence stated by the LIBSVM data page; its makers ask to be cited",
            citation="J.-M. Geusebroek, G. J. Burghouts, A. W. M. Smeulders: The Amsterdam library of object images, "
            "International Journal of Computer Vision 61, 2005; the features: A. Rocha, S. Goldenstein: "
            "Multiclass from binary, IEEE Transactions on Neural Networks and Learning Systems 25, 2014",
            files=(RawFile(name="aloi.bz2", urls=(f"{_LIBSVM}/aloi.bz2",)),),
            obtain="aloi.bz2 or aloi.scale.bz2 from the LIBSVM data page (multi-class), unpacked or not",
            facts={"rows": 108_000, "features": 128, "classes": 1_000},
        ),
        DatasetSpec(
            name="letter",
            load="harness_vectors.letter:load_letter",
            stamp="harness_vectors.letter:RAW.stamp",
            summary="20,000 printed capital letters in 16 measurements",
            representation="tf",
            licence="CC BY 4.0",
            citation="D. Slate: Letter Recognition, UCI Machine Learning Repository, 1991, "
            "https://doi.org/10.24432/C5ZP40; scaled: the LIBSVM data page",
            files=tuple(RawFile(name=name, urls=(f"{_LIBSVM}/{name}",)) for name in ("letter.scale", "letter.scale.t")),
            obtain="letter.scale and letter.scale.t from the LIBSVM data page (multi-class), or "
            "letter-recognition.data (or the zip with it) from the UCI Machine Learning Repository (dataset 59)",
            facts={"rows": 20_000, "features": 16, "classes": 26},
        ),
        DatasetSpec(
            name="imagenet",
            load="harness_vectors.imagenet:load_imagenet",
            stamp="harness_vectors.imagenet:RAW.stamp",
            summary="features of pictures that you bring, in LIBSVM form: any number of train and test files",
            representation="tf",
            licence="ImageNet: for research and teaching only, under the terms that its supervisors ask you to accept",
            citation="J. Deng, W. Dong, R. Socher, L.-J. Li, K. Li, L. Fei-Fei: ImageNet: a large-scale hierarchical "
            "image database, CVPR 2009",
            obtain="files in LIBSVM form (`class feature:value ...`), packed or not, whose names begin with train or "
            "test; made from ImageNet's pictures with a network of your choice: such features are not distributed",
        ),
    ]
