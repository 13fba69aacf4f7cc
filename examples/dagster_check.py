"""A Dagster asset check: the release is what its manifest says, and k-anonymous as it is on disk.

`release_is_sound` needs nothing of Dagster; the check below it is there where Dagster is installed.
"""

from polars_microagg.publishing.manifest.check import check

RELEASE = "patients_masked.parquet"


def release_is_sound(path: str) -> tuple[bool, dict[str, str]]:
    """Check the file, its hash, its k and its requirements; a sentence for each."""
    findings = check(path)
    return all(f.holds for f in findings), {f.what: f.says for f in findings}


try:
    from dagster import AssetCheckResult, asset_check
except ImportError:
    pass
else:

    @asset_check(asset="patients_masked", blocking=True)
    def patients_masked_is_sound() -> AssetCheckResult:
        """Stop what comes after a release that does not hold."""
        passed, metadata = release_is_sound(RELEASE)
        return AssetCheckResult(passed=passed, metadata=metadata)
