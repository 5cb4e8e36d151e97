"""Write the README of results/benchmarks/verdicts from its figures.

python benchmarks/verdicts_page.py
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import mean

FOLDER = Path(__file__).resolve().parent.parent / "results" / "benchmarks" / "verdicts"
DEFAULTS = {"ttest": "default on repeated holdouts and folds", "mcnemar": "default on a fixed split"}
TARGET_MEAN, TARGET_WORST = 5.0, 8.0
FIXED = "fixed split"
Figures = Sequence[dict[str, str]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=FOLDER, help="Read figures.csv in this folder, write README.md.")
    write_page(parser.parse_args().out)


def write_page(folder: Path) -> None:
    with (folder / "figures.csv").open(encoding="utf-8", newline="") as file:
        figures = list(csv.DictReader(file))
    (folder / "README.md").write_text("\n".join(page(figures)) + "\n", encoding="utf-8")


def page(figures: Figures) -> list[str]:
    """Return the lines of the README."""
    equal = [figure for figure in figures if figure["truth"] == "equal"]
    better = [figure for figure in figures if figure["truth"] == "better"]
    errors = {learners: _standard_error(equal, learners) for learners in _unique(equal, "learners")}
    datasets = max(int(figure["tables"]) for figure in equal if figure["learners"] == max(errors, key=int))
    return [
        "# Verdicts: error rate and power",
        "",
        "How often do verdicts find a difference that is not there, and how often one that is?",
        "",
        answer(equal, better),
        "",
        f"`python benchmarks/verdicts.py --datasets {datasets}` writes this page; do not edit it by hand.",
        "[Statistics](../../../docs/explanation/statistics.md) explains the tests.",
        "",
        "## Findings",
        "",
        *findings(equal, better),
        "",
        "## Equal learners",
        "",
        "A cell is the share of tables in which a test finds a difference between any two of several learners that "
        "are equal by construction: the mean over the scenarios, and the lowest and highest in brackets. The promised "
        "error rate is 5%. The scenarios are nearest mean (a stable learner) and 1-NN (an unstable one) with "
        f"{_listed(figure['rows'] for figure in equal)} rows. A mean of 5% over the scenarios has a standard "
        f"error of {' or '.join(f'{error:.1f} points ({learners} learners)' for learners, error in errors.items())}. "
        "`7 x 10%` means 7 random holdouts of 10% of the rows.",
        "",
        *_ranges(equal),
        "",
        "A dash means too few trials, or a split that the test is not meant for.",
        "",
        "## The default by scenario",
        "",
        *_scenarios([figure for figure in equal if figure["test"] in DEFAULTS]),
        "",
        "## Power",
        "",
        f"Three learners (nearest mean, {int(better[0]['rows']):,} rows), one of which is better by 2 points of R1. A "
        "cell is the share of its two comparisons in which the default test finds it to be better.",
        "",
        *_power(better),
    ]


def answer(equal: Figures, better: Figures) -> str:
    """Return the error rate of the default, and its power in the best design."""
    power = max(share_of(figure) for figure in better)
    return (
        f"**Of tables of equal learners {mean(shares(equal, test='ttest')):.1f}% show a difference; one of 2 points is "
        f"found in up to {power:.0f}% of the comparisons.**"
    )


def findings(equal: Figures, better: Figures) -> list[str]:
    """Return the findings as a list, with their figures."""
    trials = shares(equal, test="ttest")
    fixed = shares(equal, test="mcnemar")
    met = mean(trials) <= TARGET_MEAN and max(trials) <= TARGET_WORST and mean(fixed) <= TARGET_MEAN
    sign = shares(equal, test="sign", design="10 x 20%")
    power = {figure["design"]: share_of(figure) for figure in better}
    best = max(power, key=power.__getitem__)
    return [
        f"- The default finds a difference between equal learners in {mean(trials):.1f}% of the tables with several "
        f"trials (at worst {max(trials):.1f}%), and in {mean(fixed):.1f}% of those with a fixed split (at worst "
        f"{max(fixed):.1f}%). The target is at most {TARGET_MEAN:g}% on average and {TARGET_WORST:g}% at worst, and "
        f"{TARGET_MEAN:g}% on average on a fixed split: {'met' if met else 'missed'}.",
        f"- The sign test takes overlapping holdouts for independent trials: with 10 x 20% it is wrong in "
        f"{min(sign):.0f}% to {max(sign):.0f}% of the tables.",
        f"- Power is highest with {best}: it finds a difference of 2 points in {power[best]:.0f}% of the comparisons, "
        f"7 x 10% in {power['7 x 10%']:.0f}%.",
    ]


def _standard_error(equal: Figures, learners: str) -> float:
    """Return the standard error, in points, of the mean over scenarios of a share of 5%."""
    chosen = [figure for figure in equal if figure["learners"] == learners and figure["design"] == FIXED]
    variances = [0.05 * 0.95 / int(figure["tables"]) for figure in chosen]
    return float(100 * sum(variances) ** 0.5 / len(variances))


def shares(figures: Figures, **wanted: str) -> list[float]:
    """Return the shares, in per cent, of the figures with these fields."""
    return [share_of(one) for one in figures if all(one[name] == value for name, value in wanted.items())]


def share_of(figure: dict[str, str]) -> float:
    return 100 * int(figure["told_apart"]) / int(figure["tables"])


def _ranges(equal: Figures) -> list[str]:
    designs = _unique(equal, "design")
    lines = _heading(["test", "learners", *designs])
    for test in _unique(equal, "test"):
        for learners in _unique(equal, "learners"):
            cells = [_range(shares(equal, test=test, learners=learners, design=design)) for design in designs]
            name = f"`{test}` ({DEFAULTS[test]})" if test in DEFAULTS else f"`{test}`"
            lines.append(_row([name, learners, *cells]))
    return lines


def _range(found: Sequence[float]) -> str:
    return f"{mean(found):.1f}% ({min(found):.1f}-{max(found):.1f})" if found else "-"


def _scenarios(default: Figures) -> list[str]:
    designs = _unique(default, "design")
    lines = _heading(["learner", "rows", "learners", *designs])
    for learners in _unique(default, "learners"):
        for learner in _unique(default, "learner"):
            for rows in _unique(default, "rows"):
                chosen = {"learner": learner, "rows": rows, "learners": learners}
                cells = [f"{mean(shares(default, **chosen, design=design)):.1f}%" for design in designs]
                lines.append(_row([learner, f"{int(rows):,}", learners, *cells]))
    return lines


def _power(better: Figures) -> list[str]:
    return [*_heading([figure["design"] for figure in better]), _row([f"{share_of(one):.0f}%" for one in better])]


def _unique(figures: Figures, field: str) -> list[str]:
    return list(dict.fromkeys(figure[field] for figure in figures))


def _listed(numbers: Iterable[str]) -> str:
    *most, last = (f"{int(number):,}" for number in dict.fromkeys(numbers))
    return f"{', '.join(most)} and {last}" if most else last


def _heading(names: Sequence[str]) -> list[str]:
    return [_row(names), "|" + "---|" * len(names)]


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    main()
