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

PUBLISH = "tests/publish"
EDITS = (f"{PUBLISH}/test_publish.py", f"{PUBLISH}/test_verify.py")
SHORT = ("-k", "not any_leaf and not missing_or_more and not other_formats")
PLACES = ("tests/cli/test_places.py", "tests/cli/test_full_disk.py", "tests/cli/test_stdio.py")

FILES: dict[str, Target] = {
    "frames/batch.py": Target(
        ("tests/frames/test_batch.py", *STRATA, "tests/test_errors.py", *QUICK),
        ("tests/frames/test_mask_groups.py", "tests/core/test_suppression.py", *QUICK),
    ),
    "duckdb/batch.py": Target(("tests/duckdb/test_batch.py",), (*DUCKDB, *QUICK)),
    "suppression.py": Target(
        (f"{LIBRARY}/suppression.py", *STRATA, "tests/core/test_suppression.py", *QUICK),
    ),
    "plan.py": Target(
        ("tests/test_plan_groups.py", "tests/core/test_plan_masking.py", "tests/core/test_plan.py"),
        (*WIDE, "tests/core/test_exact.py", "tests/test_errors_of_calls.py"),
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
    "partition.py": Target((f"{LIBRARY}/partition.py", "tests/core/test_partition.py"), WIDE),
    "frames/released_strata.py": Target(
        (f"{LIBRARY}/frames/strata.py", "tests/frames/test_mask_strata.py")
    ),
    "frames/same_records.py": Target(
        ("tests/frames/test_same_records.py", "-k", "not mixed"),
        ("tests/frames/test_same_records.py",),
    ),
    "publishing/manifest/record.py": Target(
        (f"{LIBRARY}/release/manifest.py", f"{PUBLISH}/test_manifest_parts.py"),
        (*EDITS, f"{PUBLISH}/test_manifest.py", *SHORT),
    ),
    "publishing/manifest/recheck.py": Target(
        (f"{PUBLISH}/test_again.py", f"{PUBLISH}/test_again_with_original.py"),
        (*EDITS, f"{PUBLISH}/test_manifest.py", f"{PUBLISH}/test_digits.py", *SHORT),
    ),
    "publishing/manifest/compare_original.py": Target(
        (f"{LIBRARY}/release/beside.py", f"{PUBLISH}/test_beside.py"),
        (*EDITS, "tests/core/test_suppression.py"),
    ),
    "publishing/manifest/consistency.py": Target(
        (f"{PUBLISH}/test_inside.py",), (f"{PUBLISH}/test_manifest.py", *EDITS, *SHORT)
    ),
    "publishing/manifest/schema.py": Target(
        (f"{LIBRARY}/release/form.py", f"{PUBLISH}/test_form.py"),
        (f"{PUBLISH}/test_manifest.py", *SHORT),
    ),
    "publishing/atomic.py": Target(
        (f"{PUBLISH}/test_swap_places.py", f"{PUBLISH}/test_swap.py"),
        (f"{PUBLISH}/test_instants.py", *PLACES),
    ),
    "publishing/staging.py": Target(
        (f"{PUBLISH}/test_stage.py",),
        (*EDITS, f"{PUBLISH}/test_tables.py", "tests/cli/test_dry_run.py"),
    ),
}

TARGETS = {f"{LIBRARY}/{path}": target for path, target in FILES.items()}
