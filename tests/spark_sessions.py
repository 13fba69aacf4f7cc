"""Sessions of Spark on this machine: the classic kind, and Spark Connect to a server without Java."""

import contextlib
import importlib.util
import os
import shutil
import sys

from tests.test_spark import SETTINGS

__all__ = ["ENGINES", "INSTALLED", "started"]

INSTALLED = importlib.util.find_spec("pyspark") is not None
ENGINES = {
    "classic": INSTALLED and (shutil.which("java") is not None or "JAVA_HOME" in os.environ),
    "connect": INSTALLED and importlib.util.find_spec("pysail") is not None,
}


@contextlib.contextmanager
def started(engine, **settings):
    """A session that is stopped at the end."""
    from pyspark.sql import SparkSession

    os.environ |= {"SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
    if engine == "classic":
        builder = SparkSession.builder.master("local[2]")
        for name, value in (SETTINGS | settings).items():
            builder = builder.config(name, value)
        made = builder.getOrCreate()
        made.sparkContext.setLogLevel("OFF")
        yield made
        made.stop()
        return
    from pysail.spark import SparkConnectServer

    server = SparkConnectServer(ip="127.0.0.1", port=0)
    server.start(background=True)
    made = SparkSession.builder.remote(f"sc://127.0.0.1:{server.listening_address[1]}").create()
    made.conf.set("spark.sql.session.timeZone", "UTC")
    yield made
    made.stop()
    server.stop()
