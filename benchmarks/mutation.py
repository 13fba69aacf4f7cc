"""Change the code that keeps the promise, one place at a time, and see whether the tests notice.

Usage: pip install -e '.[test]' cosmic-ray
       python benchmarks/mutation.py [PART OF A PATH ...] [--workers 2] [--sample N] [--json FILE]
                                     [--only FILE] [--narrow] [--trust] [--count]

The operators are those of cosmic-ray that are named below, and two more: a call that stands alone is
left out, and an error is not raised. What changes no behaviour is not tried: annotations, docstrings,
`__all__`, what is in an f-string, options of decorators, and `strict=` of zip. Each mutant is written
into a copy of the project and handed to a short list of tests, and to a longer one if it survives.
Processes are forked after the libraries are imported and before any of them does anything.
"""

from __future__ import annotations

import argparse
import ast
import compileall
import contextlib
import json
import os
import py_compile
import random
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mutation_targets import TARGETS, Target

ROOT = Path(__file__).parents[1]
COPIED = ("polars_microagg", "tests", "sql", "benchmarks", "docs", "examples")
COPIED += ("pyproject.toml", "README.md", "CHANGELOG.md", "CONTRIBUTING.md")

PAIRS = (
    ("Add", "Sub"), ("Sub", "Add"), ("Mul", "Div"), ("Div", "Mul"), ("FloorDiv", "Mul"),
    ("Mod", "Mul"), ("Pow", "Mul"), ("LShift", "RShift"), ("BitOr", "BitAnd"), ("BitAnd", "BitOr"),
)  # fmt: skip
COMPARISONS = (
    ("Eq", "NotEq"), ("NotEq", "Eq"), ("Lt", "LtE"), ("Lt", "GtE"), ("LtE", "Lt"), ("LtE", "Gt"),
    ("Gt", "GtE"), ("Gt", "LtE"), ("GtE", "Gt"), ("GtE", "Lt"), ("Is", "IsNot"), ("IsNot", "Is"),
)  # fmt: skip
OTHERS = (
    "ReplaceUnaryOperator_USub_UAdd", "ReplaceUnaryOperator_Delete_Invert",
    "ReplaceUnaryOperator_Delete_Not", "AddNot", "ReplaceTrueWithFalse", "ReplaceFalseWithTrue",
    "ReplaceAndWithOr", "ReplaceOrWithAnd", "ReplaceBreakWithContinue", "ReplaceContinueWithBreak",
    "ExceptionReplacer", "NumberReplacer", "RemoveDecorator", "ZeroIterationForLoop",
)  # fmt: skip
OPERATORS = [
    *(f"ReplaceBinaryOperator_{a}_{b}" for a, b in PAIRS),
    *(f"ReplaceComparisonOperator_{a}_{b}" for a, b in COMPARISONS),
    *OTHERS,
]


ARGUMENTS = ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist"]
ARGUMENTS += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]


@dataclass
class Mutant:
    """A changed file, and what became of it."""

    path: str
    line: int
    operator: str
    before: str
    after: str
    code: str
    outcome: str = ""

    def told(self) -> dict[str, Any]:
        names = ("path", "line", "operator", "before", "after", "outcome")
        return {name: getattr(self, name) for name in names}


class _Plain(ast.NodeTransformer):
    """Leave out what is not tried, so that mutants which differ in nothing else are seen."""

    def visit_arg(self, node: ast.arg) -> ast.arg:
        node.annotation = None
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        alias = isinstance(node.annotation, ast.Name) and node.annotation.id == "TypeAlias"
        node.annotation = ast.Constant(0)
        if alias:
            node.value = None
        return self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        if isinstance(node.targets[0], ast.Name) and node.targets[0].id == "__all__":
            return ast.Pass()
        return self.generic_visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = None
        return self._defined(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        return self._defined(node)

    def _defined(self, node: Any) -> ast.AST:
        node.decorator_list = [
            each.func if isinstance(each, ast.Call) else each for each in node.decorator_list
        ]
        return self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        return ast.Pass() if isinstance(node.value, ast.Constant) else self.generic_visit(node)

    def visit_JoinedStr(self, _: ast.JoinedStr) -> ast.AST:
        return ast.Constant("")

    def visit_keyword(self, node: ast.keyword) -> ast.AST:
        return (
            self.generic_visit(node) if node.arg != "strict" else ast.keyword("", ast.Constant(0))
        )


def plain(code: str) -> str:
    return ast.dump(_Plain().visit(ast.parse(code)))


def _mutated(code: str, operator: Any, occurrence: int) -> str | None:
    """The file with one change, None after the last one, and as it is where none can be made."""
    from cosmic_ray.mutating import mutate_code

    try:
        return mutate_code(code, operator, occurrence)
    except AttributeError:  # an error that is named with its module, in an except
        return code


def changed(code: str) -> Iterator[tuple[str, str]]:
    """All mutations of a file: what was done, and the new text."""
    from cosmic_ray.plugins import get_operator

    for name in OPERATORS:
        operator, occurrence = get_operator(f"core/{name}")(), 0
        while mutated := _mutated(code, operator, occurrence):
            if mutated != code:
                yield name, mutated
            occurrence += 1
    lines = code.splitlines(keepends=True)
    for node in ast.walk(ast.parse(code)):
        alone = isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
        if alone or isinstance(node, ast.Raise):
            first, last = node.lineno - 1, node.end_lineno
            start = lines[first][: node.col_offset]
            rest = "\n" * (last - first)
            name = "DropCall" if alone else "DropRaise"
            yield name, "".join([*lines[:first], f"{start}pass{rest}", *lines[last:]])


def mutants(path: str) -> list[Mutant]:
    code = (ROOT / path).read_text(encoding="utf-8")
    seen, made = {plain(code)}, []
    for operator, mutated in changed(code):
        try:
            form = plain(mutated)
        except SyntaxError:  # the slash of a signature is no division
            continue
        if form in seen:
            continue
        seen.add(form)
        pairs = enumerate(zip(code.splitlines(), mutated.splitlines(), strict=False), 1)
        line, (before, after) = next((n, p) for n, p in pairs if p[0] != p[1])
        made.append(Mutant(path, line, operator, before.strip(), after.strip(), mutated))
    return made


def start(folder: Path, tests: tuple[str, ...]) -> int:
    """Run tests in a child of its own group, and return its number."""
    child = os.fork()
    if child:
        return child
    os.setsid()
    quiet = os.open(folder / "log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
    os.chdir(folder)
    os.environ["PYTHONPATH"] = str(folder)
    sys.dont_write_bytecode = False
    sys.path[:0] = [str(folder)]
    code = 99
    try:
        import pytest

        code = int(pytest.main([*tests, *ARGUMENTS]))
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


class Worker:
    """A copy of the project in which one mutant at a time is tried."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.child, self.mutant = folder, 0, None
        for name in COPIED:
            here = ROOT / name
            if here.is_dir():
                ignored = shutil.ignore_patterns("__pycache__")
                shutil.copytree(here, folder / name, ignore=ignored)
            else:
                shutil.copy(here, folder / name)
        # Compiled files that are held against the text of their source, so that none is stale.
        mode = py_compile.PycInvalidationMode.CHECKED_HASH
        compileall.compile_dir(folder / "polars_microagg", quiet=2, invalidation_mode=mode)

    def begin(self, mutant: Mutant, target: Target, wide: bool) -> None:
        self.mutant, self.wide = mutant, wide
        (self.folder / mutant.path).write_text(mutant.code, encoding="utf-8")
        self.until = time.monotonic() + (target.patience * (6 if wide else 1))
        self.child = start(self.folder, target.wide if wide else target.tests)

    def ended(self) -> str | None:
        """What became of the mutant, if that is known."""
        number, status = os.waitpid(self.child, os.WNOHANG)
        if number:
            outcome = "killed" if status else "survived"
        elif time.monotonic() > self.until:
            outcome = "timeout"
        else:
            return None
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.child, signal.SIGKILL)
        if not number:
            os.waitpid(self.child, 0)
        self.child = 0
        shutil.copy(ROOT / self.mutant.path, self.folder / self.mutant.path)
        return outcome


def tried(made: list[Mutant], workers: int, narrow: bool, done: Any) -> None:
    """Try all mutants; `done` is called after each."""
    queue = [(mutant, False) for mutant in reversed(made)]
    with tempfile.TemporaryDirectory() as folder:
        crew = [Worker(Path(folder) / str(i)) for i in range(workers)]
        while queue or any(worker.child for worker in crew):
            for worker in crew:
                if not worker.child and queue:
                    mutant, wide = queue.pop()
                    worker.begin(mutant, TARGETS[mutant.path], wide)
                elif worker.child and (outcome := worker.ended()):
                    mutant = worker.mutant
                    wide = TARGETS[mutant.path].wide and not (worker.wide or narrow)
                    if outcome == "survived" and wide:
                        queue.append((mutant, True))
                        continue
                    mutant.outcome = f"{outcome}{' late' if worker.wide else ''}"
                    done(mutant)
            time.sleep(0.01)


def sound(path: str, narrow: bool) -> None:
    """Stop where the tests fail without any mutation, or take too long."""
    target = TARGETS[path]
    for wide in (False, True) if target.wide and not narrow else (False,):
        code = (ROOT / path).read_text(encoding="utf-8")
        began, found = time.monotonic(), []
        with tempfile.TemporaryDirectory() as folder:
            worker = Worker(Path(folder) / "0")
            worker.begin(Mutant(path, 0, "", "", "", code), target, wide)
            while not (outcome := worker.ended()):
                time.sleep(0.01)
            found.append(outcome)
            took = time.monotonic() - began
            if outcome != "survived":
                sys.exit(f"{path}: {outcome} unchanged\n{(Path(folder) / '0/log').read_text()}")
        print(f"{path}: {'wide' if wide else 'tests'} {took:.1f} s", file=sys.stderr)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("parts", nargs="*", help="files whose path has one of these in it")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--sample", type=int, help="at most so many mutants a file")
    parser.add_argument("--json", type=Path, help="where to write what became of each mutant")
    parser.add_argument("--only", type=Path, help="try again those that survived in such a file")
    parser.add_argument("--narrow", action="store_true", help="try survivors on no more tests")
    parser.add_argument("--trust", action="store_true", help="do not run the tests unchanged first")
    parser.add_argument("--count", action="store_true", help="count the mutants and try none")
    given = parser.parse_args()
    parts = given.parts or [""]
    made: list[Mutant] = []
    for path in [path for path in TARGETS if any(part in path for part in parts)]:
        found = mutants(path)
        if given.sample and len(found) > given.sample:
            found = random.Random(0).sample(found, given.sample)
        made += found
    if given.only:
        again = [m for m in json.loads(given.only.read_text()) if "survived" in m["outcome"]]
        lived = Counter((m["path"], m["before"], m["after"]) for m in again)
        made = [m for m in made if (m.path, m.before, m.after) in lived]
    counts = Counter(mutant.path for mutant in made)
    if given.count:
        for path, number in counts.items():
            print(f"{number:5} {path}")
        return
    import duckdb, hypothesis, numpy, polars, pyarrow, pytest, scipy.stats  # noqa

    for path in () if given.trust else counts:
        sound(path, given.narrow)
    ended: list[Mutant] = []

    def done(mutant: Mutant) -> None:
        ended.append(mutant)
        if "survived" in mutant.outcome:
            print(f"{mutant.path}:{mutant.line} {mutant.operator}\n- {mutant.before}")
            print(f"+ {mutant.after}", flush=True)
        if given.json and (len(ended) % 5 == 0 or len(ended) == len(made)):
            given.json.write_text(json.dumps([m.told() for m in ended], indent=1))

    tried(made, given.workers, given.narrow, done)
    lived = Counter(mutant.path for mutant in ended if "survived" in mutant.outcome)
    for path, number in counts.items():
        print(f"{path}: {number} mutants, {number - lived[path]} killed, {lived[path]} survived")
    total, left = sum(counts.values()), sum(lived.values())
    print(f"{total} mutants, {total - left} killed ({100 * (1 - left / total):.1f} %)")


if __name__ == "__main__":
    main()
