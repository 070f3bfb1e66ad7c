# SPDX-License-Identifier: MIT OR Apache-2.0
"""Tables: what other libraries make of them, without copying."""

import time

import duckdb
import pandas
import polars
import pyarrow
import pytest
import tandem


@pytest.fixture(scope="module")
def run():
    return tandem.simulate("hikey960", "pipeline", duration="200ms", trace=True)


def test_other_libraries_take_tables(run):
    tasks = run.tasks
    frame = polars.DataFrame(tasks)
    assert frame.height == len(tasks) > 3 and frame["cpu_time_s"].to_list() == tasks["cpu_time_s"]
    arrow = pyarrow.table(tasks)
    assert arrow.to_pylist() == tasks.to_dicts()
    assert list(arrow.to_pandas(types_mapper=pandas.ArrowDtype)["name"]) == tasks["name"]
    assert duckdb.sql("select sum(cpu_time_s) from arrow").fetchall()[0][0] == pytest.approx(sum(tasks["cpu_time_s"]))
    assert run.to_dict()["tasks"][0]["name"] == tasks["name"][0]


def test_columns_are_handed_over_as_they_are(run):
    slices = run.trace.slices
    first, second = pyarrow.table(slices), pyarrow.table(slices)
    for name in ("start_ns", "end_ns", "cpu"):
        addresses = [table[name].chunk(0).buffers()[1].address for table in (first, second)]
        assert addresses[0] == addresses[1], f"{name} was copied"


def test_a_capsule_that_nobody_takes_is_freed_and_taking_outlives_the_table(run):
    for _ in range(1000):
        run.tasks.__arrow_c_stream__()
    frame = pyarrow.table(run.tasks)
    assert frame.num_rows == len(run.tasks)


def test_times_of_a_trace_add_up(run):
    slices = polars.DataFrame(run.trace.slices).with_columns(ns=polars.col("end_ns") - polars.col("start_ns"))
    by_task = dict(slices.group_by("task").agg(polars.col("ns").sum()).iter_rows())
    for task in run.tasks.to_dicts():
        if task["cpu_time_s"] > 0.001:
            assert by_task[task["name"]] / 1e9 == pytest.approx(task["cpu_time_s"], rel=0.1), task["name"]
    assert (slices["ns"] >= 0).all() and slices["end_ns"].max() <= 200_000_000
    waits = polars.DataFrame(run.trace.waits)
    assert (waits["end_ns"] > waits["start_ns"]).all() and {"cpu", "timer"} <= set(waits["on"])
    assert set(polars.DataFrame(run.trace.clocks)["khz"]) <= {1000 * mhz for mhz in (533, 999, 1402, 1709, 1844, 903, 1421, 1805, 2112, 2362)}
    assert polars.DataFrame(run.trace.power)["watts"].min() >= 0


def test_a_million_rows_reach_polars():
    workload = tandem.Workload("switches").task("a", instance=16, loop=-1, run=20, sleep=20)
    run = tandem.simulate("hikey960", workload, duration=4.5, quiet=True, trace=True)
    table = run.trace.slices
    assert len(table) >= 1_000_000, len(table)
    times = []
    for _ in range(5):
        begun = time.perf_counter()
        frame = polars.DataFrame(table)
        times.append(time.perf_counter() - begun)
    # Seen with `pytest -s`.
    print(f"{len(table)} rows reach Polars in {sorted(times)[2]:.4f} s")
    assert frame.height == len(table)


def test_tables_are_shown_and_written(run, tmp_path):
    assert "name" in repr(run.tasks) and "<table>" in run.tasks._repr_html_()
    run.tasks.write_parquet(tmp_path / "tasks.parquet")
    assert polars.read_parquet(tmp_path / "tasks.parquet").height == len(run.tasks)
    with pytest.raises(KeyError, match="did you mean `name`"):
        run.tasks["nam"]
