"""The files that examples of the documentation read: small tables, vectors and results."""

import random

import numpy as np
from scipy.sparse import random as random_matrix

PRODUCTS = {
    "Food/Bakery": "bread rye wheat roll bun loaf baked",
    "Food/Dairy": "milk cheese butter cream yoghurt whole",
    "Home/Lighting": "lamp bulb led desk floor warm light",
    "Home/Storage": "box shelf rack basket desk drawer",
}
JOBS = {
    "2221": "nurse ward hospital clinic care night",
    "2342": "nursery child care school play day",
    "7212": "welder steel pipe frame arc torch",
    "7512": "baker bread oven dough cake night",
}


def write_doc_data(folder, page):
    """Write the files that a page mentions: `titles.csv` has products on one page and job titles on the others."""
    rows = draw_rows(PRODUCTS)
    titles = rows if page == "docs/how-to/your-data.md" else draw_rows(JOBS)
    heading = "title,category" if titles is rows else "title,code"
    lines_of = {
        "titles.csv": [heading, *(f'"{text}",{label}' for label, text in titles)],
        "new.csv": ["id,title", *(f"{number},{text} worker" for number, (_, text) in enumerate(titles[::7]))],
        "shops.csv": ["title,category,shop,day", *shop_lines(rows + rows[::8])],
        "sizes.csv": ["kind,height,width", *(f"k{i % 3},{i % 3 + i / 90},{i % 2}" for i in range(90))],
        "jobs.csv": ["what;group", *(f"{text};{label.partition('/')[2]}" for label, text in rows)],
        "groups.csv": ["parent,child", *(label.replace("/", ",") for label in PRODUCTS)],
        "counts.svm": [f"{i % 4} {1 + i % 4}:2 {5 + i % 9}:1" for i in range(100)],
        "more.svm": [f"{i % 4} {1 + i % 4}:1 {5 + i % 7}:1" for i in range(20)],
        "classes.txt": [f"class{i % 4}" for i in range(100)],
    }
    for name, lines in lines_of.items():
        (folder / name).write_text("\n".join(lines) + "\n")
    write_arrays(folder)


def draw_rows(words):
    """Return 50 rows of each class: the class, and five of its words."""
    draw = random.Random(1)
    return [(label, " ".join(draw.choices(known.split(), k=5))) for label, known in words.items() for _ in range(50)]


def shop_lines(rows):
    return [f'"{text}",{label},shop{i % 9},2024-01-{1 + i % 30:02}' for i, (label, text) in enumerate(rows)]


def write_arrays(folder):
    X = random_matrix(100, 40, density=0.2, format="csr", random_state=1)
    pieces = {"X_data": X.data, "X_indices": X.indices, "X_indptr": X.indptr, "X_shape": X.shape}
    np.savez(folder / "rows.npz", **pieces, y=np.arange(100) % 4, class_names=["bread", "cheese", "lamp", "shelf"])
    np.save(folder / "vectors.npy", np.random.default_rng(1).normal(size=(100, 8)))
