"""A real browser, and a page of a real run to show in it."""

import json
import os
import shutil
from pathlib import Path

import pytest

import tsgrad as tg
from example_results import example_results
from tsgrad.experiments import write_results
from tsgrad.report import write_reproduction_report, write_run_report


@pytest.fixture(scope="session")
def run_folder(tmp_path_factory):
    """A short run on arms of different noise."""
    folder = tmp_path_factory.mktemp("report") / "run"
    problem = tg.GaussianBandit(noise_std=[0.1, 1.0, 4.0])
    settings = {"horizon": 20, "episodes": 512, "iterations": 40, "check_every": 4, "validation_episodes": 2048}
    tg.train(problem, tg.ReshapedThompson(problem), seed=1, out=folder, rivals=False, **settings)
    return folder


@pytest.fixture(scope="session")
def reproduction_folder(tmp_path_factory):
    """Two settings, reproduced in a small way."""
    folder = tmp_path_factory.mktemp("reproduction")
    write_results(folder / "hetero" / "results.json", example_results(setting="hetero"))
    write_results(folder / "many" / "results.json", example_results(setting="many", pairs=["mean/self"]))
    return folder


@pytest.fixture(scope="session")
def pages(run_folder, reproduction_folder):
    """The page of a run, of a reproduction, and of several settings together."""
    overview = write_reproduction_report(reproduction_folder)
    return {
        "run": write_run_report(run_folder, episodes=2000, seed=0, rivals=False),
        "reproduction": overview.parent / "hetero" / "report.html",
        "overview": overview,
    }


@pytest.fixture(scope="session", params=["run", "reproduction", "overview"])
def page(request, pages):
    """Each of them."""
    return pages[request.param]


class Browser:
    """Headless Chromium, and what it says about a page: requests and console messages."""

    def __init__(self, driver):
        self.driver = driver

    def show(self, page: Path, *, width: int, height: int = 900, scheme: str = "light") -> None:
        """Opens a page in a window of so many pixels, in light or dark."""
        self.command("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.command(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600
        )
        self.driver.get_log("performance"), self.driver.get_log("browser")  # of what was shown before
        self.driver.get(page.as_uri())

    def command(self, name: str, **arguments):
        return self.driver.execute_cdp_cmd(name, arguments)

    def ask(self, expression: str):
        """The value of a JavaScript expression on the page."""
        return self.driver.execute_script(f"return {expression}")

    def requested(self) -> list[str]:
        """Every address that the page asked for, itself included."""
        messages = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        return [
            message["params"]["request"]["url"]
            for message in messages
            if message["method"] == "Network.requestWillBeSent"
        ]

    def complaints(self) -> list[str]:
        """Errors and warnings on the console."""
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def screenshot(self) -> bytes:
        """The whole page as PNG, however long it is."""
        import base64

        shot = self.command("Page.captureScreenshot", format="png", captureBeyondViewport=True)
        return base64.b64decode(shot["data"])


@pytest.fixture(scope="session")
def browser():
    """Skips where there is no browser, except in continuous integration, where there must be one."""
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if chromium is None or driver is None:
        reason = "chromium and chromedriver are not installed: 'make browser' installs them (Debian, as root)"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--hide-scrollbars"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"performance": "ALL", "browser": "ALL"})
    window = webdriver.Chrome(options=options, service=webdriver.ChromeService(executable_path=driver))
    try:
        yield Browser(window)
    finally:
        window.quit()
