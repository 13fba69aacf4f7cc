"""A browser without a screen, where one is installed."""

import shutil

__all__ = ["BROWSER", "FLAGS"]

BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-extensions",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--disable-default-apps",
    "--no-proxy-server",
    "--enable-logging=stderr",
    "--dump-dom",
]
