"""Sessions of Spark on this machine: the classic kind, and Spark Connect to a server without Java."""

import contextlib
import importlib.util
import os
import shutil
import sys

__all__ = ["ENGINES", "INSTALLED", "SETTINGS", "started"]

INSTALLED = importlib.util.find_spec("pyspark") is not None
ENGINES = {
    "classic": INSTALLED and (shutil.which("java") is not None or "JAVA_HOME" in os.environ),
    "connect": INSTALLED and importlib.util.find_spec("pysail") is not None,
}

SETTINGS = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.driver.memory": "1g",
    "spark.executor.memory": "512m",
    "spark.executor.cores": "1",
    "spark.sql.shuffle.partitions": "4",
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
