"""The files that keep the promise, and the tests that each of their mutants is handed to."""

from __future__ import annotations

from typing import NamedTuple

LIBRARY = "polars_microagg"


class Target(NamedTuple):
    """Tests in the order in which they are run, those for survivors, and seconds until one hangs."""

    tests: tuple[str, ...]
    wide: tuple[str, ...] = ()
    patience: float = 60


QUICK = ("-k", "not lowloss and not genetic and not fuzzy and not callback")
"""Methods that take long say no more of the promise than the others."""

DUCKDB = ("tests/duckdb/test_suppressed.py", "tests/duckdb/test_identifiers.py")
STRATA = ("tests/frames/test_mask_strata.py", "tests/core/test_plan_masking.py")
WIDE = (*STRATA, "tests/frames/test_mask_groups.py", "tests/core/test_suppression.py", *QUICK)

PUBLISH, MANIFEST = "tests/publishing", "tests/publishing/manifest"
EDITS = (f"{PUBLISH}/test_publish.py", f"{MANIFEST}/test_verify.py")
SHORT = ("-k", "not any_leaf and not missing_or_more and not other_formats")
PLACES = ("tests/cli/test_places.py", "tests/cli/test_full_disk.py", "tests/cli/test_stdio.py")
CHECK = ("tests/models/test_register.py", "tests/frames/test_batch.py")

FILES: dict[str, Target] = {
    "frames/batch.py": Target(
        ("tests/frames/test_batch.py", *STRATA, "tests/test_errors.py", *QUICK),
        (
            "tests/frames/test_mask_groups.py",
            "tests/core/test_suppression.py",
            "tests/duckdb/test_list_batch.py",
            *QUICK,
        ),
    ),
    "core/plan.py": Target(
        (
            "tests/core/test_plan_groups.py",
            "tests/core/test_plan_masking.py",
            "tests/core/test_plan.py",
            "tests/models/test_register.py",
        ),
        (*WIDE, "tests/core/test_exact.py", "tests/test_errors_of_calls.py"),
    ),
    "core/model.py": Target((f"{LIBRARY}/core/model.py", *CHECK), WIDE),
    "models/k.py": Target((f"{LIBRARY}/models/k.py", *CHECK), WIDE),
    "core/suppression.py": Target(
        (f"{LIBRARY}/core/suppression.py", *STRATA, "tests/core/test_suppression.py", *QUICK),
    ),
    "core/partition.py": Target(
        (f"{LIBRARY}/core/partition.py", "tests/core/test_partition.py"), WIDE
    ),
    "frames/released_strata.py": Target(
        (f"{LIBRARY}/frames/released_strata.py", "tests/frames/test_mask_strata.py")
    ),
    "kernels/exact_mean.py": Target(
        (f"{LIBRARY}/kernels/exact_mean.py", "tests/kernels/test_exact_mean.py"),
        (
            "tests/kernels/test_centre.py",
            "tests/frames/test_columns_values.py",
            "tests/core/test_exact.py",
        ),
    ),
    "kernels/centre.py": Target(
        (f"{LIBRARY}/kernels/centre.py", "tests/kernels/test_centre.py"),
        (
            *STRATA,
            "tests/frames/test_columns_values.py",
            "tests/core/test_exact.py",
            "tests/core/test_finite.py",
        ),
    ),
    "publishing/manifest/record.py": Target(
        (f"{LIBRARY}/publishing/manifest/record.py", f"{MANIFEST}/test_record.py"),
        (*EDITS, f"{MANIFEST}/test_manifest.py", *SHORT),
    ),
    "publishing/manifest/check.py": Target(
        (f"{LIBRARY}/publishing/manifest/check.py", f"{MANIFEST}/test_check.py"),
        (*EDITS, f"{MANIFEST}/test_manifest.py", *SHORT),
    ),
    "publishing/atomic.py": Target(
        (f"{PUBLISH}/test_atomic_places.py", f"{PUBLISH}/test_atomic.py"),
        (f"{PUBLISH}/test_instants.py", *PLACES),
    ),
    "durable.py": Target((f"{PUBLISH}/test_atomic.py",), (f"{PUBLISH}/test_instants.py", *PLACES)),
    "publishing/staging.py": Target(
        (f"{PUBLISH}/test_staging.py", f"{PUBLISH}/test_staging_errors.py"),
        (*EDITS, f"{PUBLISH}/formats/test_duckdb_write.py", "tests/cli/test_dry_run.py"),
    ),
    "publishing/manifest/recheck.py": Target(
        (f"{MANIFEST}/test_recheck.py", f"{MANIFEST}/test_recheck_original.py"),
        (*EDITS, f"{MANIFEST}/test_manifest.py", f"{MANIFEST}/test_rounding.py", *SHORT),
    ),
    "publishing/manifest/compare_original.py": Target(
        (
            f"{LIBRARY}/publishing/manifest/compare_original.py",
            f"{MANIFEST}/test_compare_original.py",
        ),
        (*EDITS, "tests/core/test_suppression.py"),
    ),
    "duckdb/list_batch.py": Target(("tests/duckdb/test_list_batch.py",), (*DUCKDB, *QUICK)),
    "publishing/manifest/consistency.py": Target(
        (f"{MANIFEST}/test_consistency.py", f"{MANIFEST}/test_schema.py"),
        (f"{MANIFEST}/test_manifest.py", *EDITS, *SHORT),
    ),
    "publishing/manifest/schema.py": Target(
        (f"{LIBRARY}/publishing/manifest/schema.py", f"{MANIFEST}/test_schema.py"),
        (f"{MANIFEST}/test_manifest.py", *SHORT),
    ),
    "frames/same_records.py": Target(
        ("tests/frames/test_same_records.py", "-k", "not mixed"),
        ("tests/frames/test_same_records.py",),
    ),
}

TARGETS = {f"{LIBRARY}/{path}": target for path, target in FILES.items()}
