# SPDX-License-Identifier: MIT OR Apache-2.0
"""What the manual, the notebooks and the examples say is so."""

import ast
import doctest
import inspect
import os
import sys
from pathlib import Path

import jupytext
import nbclient
import pytest
import tandem

ROOT = Path(__file__).resolve().parents[1]
MANUAL = Path(tandem.__file__).with_suffix(".pyi")


TREE = ast.parse(MANUAL.read_text())
PLACES = (ast.Module, ast.ClassDef, ast.FunctionDef)
DOCUMENTED = [node for node in ast.walk(TREE) if isinstance(node, PLACES) and ast.get_docstring(node)]


def test_the_manuals_examples_are_so():
    runner, names = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE), {"tandem": tandem}
    for node in DOCUMENTED:
        name, line = getattr(node, "name", "tandem"), getattr(node, "lineno", 1)
        runner.run(doctest.DocTestParser().get_doctest(ast.get_docstring(node), names, name, str(MANUAL), line), clear_globs=False)
    assert runner.failures == 0 and runner.tries > 15


def arguments_of(function):
    """Names and kinds of arguments, as the manual has them."""
    given = function.args
    positional = [argument.arg for argument in given.posonlyargs + given.args]
    named = [f"*{argument.arg}" for argument in given.kwonlyargs]
    rest = [f"**{given.kwarg.arg}"] if given.kwarg else []
    return [name for name in positional if name not in ("self", "cls")] + named + rest


def arguments_there(function):
    """The same, as the package has them."""
    marks = {inspect.Parameter.KEYWORD_ONLY: "*", inspect.Parameter.VAR_KEYWORD: "**", inspect.Parameter.VAR_POSITIONAL: "?"}
    of = inspect.signature(function).parameters.values()
    return [marks.get(parameter.kind, "") + parameter.name for parameter in of if parameter.name not in ("self", "cls")]


def test_the_manual_has_every_name_and_argument():
    places = {node.name: node for node in TREE.body if isinstance(node, (ast.ClassDef, ast.FunctionDef))}
    assert sorted([*places, "__version__"]) == sorted(tandem.__all__)
    for name, place in places.items():
        there = getattr(tandem, name)
        if isinstance(place, ast.FunctionDef):
            assert arguments_of(place) == arguments_there(there), name
            continue
        members = {node.name: node for node in place.body if isinstance(node, ast.FunctionDef)}
        fields = {node.target.id for node in place.body if isinstance(node, ast.AnnAssign)}
        public = {member for member in vars(there) if not member.startswith("_")}
        assert public == {member for member in members if not member.startswith("_")} | (public & fields), name
        for member, node in members.items():
            if not node.decorator_list and not member.startswith("__"):
                assert arguments_of(node) == arguments_there(getattr(there, member)), f"{name}.{member}"
        if "__new__" in members:
            assert arguments_of(members["__new__"]) == arguments_there(there), name


@pytest.mark.parametrize("notebook", sorted((ROOT / "notebooks").glob("*.py")), ids=lambda path: path.stem)
def test_a_notebook_runs(notebook, tmp_path, monkeypatch):
    monkeypatch.setenv("MPLBACKEND", "agg")
    nbclient.NotebookClient(jupytext.read(notebook), timeout=600, resources={"metadata": {"path": str(tmp_path)}}).execute()


def test_the_examples_run():
    sys.path.insert(0, str(ROOT / "examples"))
    import governor_in_gymnasium
    import tune_with_optuna

    study = tune_with_optuna.main(4)
    assert len(study.trials) == 4 and study.best_value < 1.5
    environment = governor_in_gymnasium.ClockChoice(parts=2)
    environment.reset(seed=0)
    observation, reward, over, _, _ = environment.step(4)
    assert observation[0] < 1.0 and reward > -1.5 and not over
    assert environment.step(0)[2]


def test_the_tests_find_what_they_test():
    assert os.path.exists(MANUAL) and len(list((ROOT / "notebooks").glob("*.py"))) == 5
