"""A headless Chromium, and a page opened in it."""

import json
import os
import shutil
import subprocess
import tarfile

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import Select, WebDriverWait

WIDE, HIGH = 1280, 1000
REQUIRED = "HARNESS_NEEDS_BROWSER"
"""Set where a browser is required, as in CI after its installation. Then a missing browser fails the test."""
SCREENSHOTS = "HARNESS_SCREENSHOTS"
"""A folder for screenshots of tests."""


def start_browser():
    """Return Chromium with its driver; skip the test if one is missing, unless it is required."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    driver = shutil.which("chromedriver")
    if not (chromium and driver):
        reason = "no chromium and chromedriver here: apt-get install chromium chromium-driver"
        if os.environ.get(REQUIRED):
            pytest.fail(reason)
        pytest.skip(reason)
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for word in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--hide-scrollbars"):
        options.add_argument(word)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    return webdriver.Chrome(options=options, service=Service(driver))


class Opened:
    """A page in a browser."""

    def __init__(self, driver, path):
        self.driver, self.address = driver, path.as_uri()

    def open(self, state="", width=WIDE):
        """Open the page again, with a state in its address."""
        self.resize(width)
        self.driver.get("about:blank")
        self.driver.get(f"{self.address}#{state}" if state else self.address)
        self.wait(lambda: self.run("return document.documentElement.dataset.ready") == "yes")
        return self

    def resize(self, width, height=HIGH):
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)

    def media(self, **features):
        """Emulate print, or a preference for dark colours."""
        media = features.pop("media", "")
        wanted = [{"name": name.replace("_", "-"), "value": value} for name, value in features.items()]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": media, "features": wanted})

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def wait(self, condition):
        return WebDriverWait(self.driver, 60, poll_frequency=0.05).until(lambda _: condition())

    def all(self, selector):
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def one(self, selector):
        (found,) = self.all(selector)
        return found

    def texts(self, selector):
        script = "return [...document.querySelectorAll(arguments[0])].map(e => e.textContent)"
        return self.run(script, selector)

    def press(self, words):
        """Press the first button with this text."""
        xpath = f"//button[normalize-space(.)={json.dumps(words)}]"
        self.driver.find_elements(By.XPATH, xpath)[0].click()

    def press_in(self, selector, words):
        """Press the button with this text in an element."""
        self.one(selector).find_element(By.XPATH, f".//button[normalize-space(.)={json.dumps(words)}]").click()

    def choose(self, group, label, value):
        """Choose a value in the labelled list of a group of controls."""
        (select,) = self.all(f"#{group} select[data-focus='choose {label}']")
        (option,) = [one for one in Select(select).options if one.get_property("value") == value]
        option.click()

    def colour(self, selector, name="background-color"):
        return self.one(selector).value_of_css_property(name)

    def keep(self, name):
        """Save a screenshot if a folder for them is set."""
        folder = os.environ.get(SCREENSHOTS)
        if folder:
            os.makedirs(folder, exist_ok=True)
            self.driver.save_screenshot(os.path.join(folder, f"{name}.png"))

    def complaints(self):
        """Return errors and warnings of the browser since the last call."""
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def requests(self):
        """Return requested addresses since the last call, except local files and inline data."""
        addresses = []
        for entry in self.driver.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                addresses.append(message["params"]["request"]["url"])
        return [url for url in addresses if url.partition(":")[0] not in ("file", "data", "blob", "about")]


CONTRAST = """
const pen = new OffscreenCanvas(1, 1).getContext('2d', {willReadFrequently: true});
function mixed(colours) {
  pen.clearRect(0, 0, 1, 1);
  for (const colour of colours) { pen.fillStyle = colour; pen.fillRect(0, 0, 1, 1); }
  return pen.getImageData(0, 0, 1, 1).data;
}
function luminance([r, g, b]) {
  const linear = [r, g, b].map(c => c / 255).map(c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
  return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
}
function behind(element) {
  const colours = [];
  for (let one = element; one; one = one.parentElement) colours.unshift(getComputedStyle(one).backgroundColor);
  return colours;
}
function ratio(colours, colour) {
  const [a, b] = [mixed(colours), mixed([...colours, colour])].map(luminance);
  return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
}
"""
"""JavaScript functions for the contrast of WCAG 2: `ratio(behind(element), colour)`."""
SMALLEST_CONTRAST = 4.5
"""Of text by WCAG 2 AA."""
SMALLEST_CONTRAST_OF_SHAPES = 3
"""Of borders of controls and of marks in figures by WCAG 2 AA."""


def contrasts(page, selector, colour, smallest=SMALLEST_CONTRAST):
    """Return elements whose colour has too little contrast with what is behind them, and fail if there are none."""
    script = f"""{CONTRAST}
    return [...document.querySelectorAll(arguments[0])].filter(one => one.checkVisibility()).map(one => [
        one.outerHTML.slice(0, 90), ratio(behind(one.parentElement), getComputedStyle(one)[arguments[1]])])"""
    found = page.run(script, selector, colour)
    assert found, selector
    return [(which, ratio) for which, ratio in found if ratio < smallest]


def texts_of_low_contrast(page):
    """Return the visible texts, outside of figures, that differ too little from their background."""
    script = f"""{CONTRAST}
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), found = [];
    while (walker.nextNode()) {{
        const [text, parent] = [walker.currentNode.data.trim(), walker.currentNode.parentElement];
        if (!text || !parent.checkVisibility() || parent.closest('svg, script, style, noscript, option')) continue;
        found.push([text.slice(0, 40), ratio(behind(parent), getComputedStyle(parent).color)]);
    }}
    return found"""
    found = page.run(script)
    assert len(found) > 100
    return [(text, ratio) for text, ratio in found if ratio < SMALLEST_CONTRAST]


def axe_script(folder):
    """Return the source of axe-core from npm; skip the test without npm or a registry."""
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("no npm here, by which axe-core comes")
    command = [npm, "pack", "axe-core@4", "--silent"]
    ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, check=False)
    if ended.returncode:
        pytest.skip(f"axe-core cannot be had: {ended.stderr.strip()[-200:]}")
    with tarfile.open(folder / ended.stdout.split()[-1]) as package:
        return package.extractfile("package/axe.min.js").read().decode()
