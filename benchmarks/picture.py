"""The README's picture: a screenshot of the page of committed results.

    python benchmarks/picture.py

Opens results/page.html in Chromium and writes docs/page.png.
"""

from __future__ import annotations

import argparse
import io
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PART, DATASET = "kdd2008-table1", "newsgroups"
WIDTH, COLOURS = 1200, 64


def take(path: Path) -> bytes:
    """Return a screenshot of one part of the page, from the summary to the figure, as PNG."""
    sys.path.insert(0, str(ROOT / "tests" / "parts"))
    from browser import Opened, start_browser

    driver = start_browser()
    try:
        page = Opened(driver, path)
        page.media(prefers_color_scheme="light")
        page.open(f"part={PART}&dataset={DATASET}", width=WIDTH)
        page.wait(lambda: page.all("#chart svg"))
        page.run("for (const id of ['classes-section', 'learner-heading']) document.getElementById(id).remove()")
        height = page.run("return document.querySelector('.answer').getBoundingClientRect().bottom + scrollY")
        size = {"width": WIDTH, "height": int(height), "deviceScaleFactor": 1, "mobile": False}
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        return bytes(driver.get_screenshot_as_png())
    finally:
        driver.quit()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "page.png")
    given = parser.parse_args()
    from PIL import Image

    picture = Image.open(io.BytesIO(take(ROOT / "results" / "page.html"))).convert("RGB")
    picture.quantize(COLOURS).save(given.out, optimize=True)
    print(f"{given.out}: {given.out.stat().st_size / 1e3:.0f} kB")


if __name__ == "__main__":
    main()
