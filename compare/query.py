"""SQL over the records: DuckDB tables `records` and `measurements`, in memory, made anew for each query."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import duckdb

from compare.store import Problem, Stored, scan

#: Conditions that are columns of their own besides being in the JSON column `conditions`.
CONDITIONS = {
    "arithmetic": "VARCHAR", "batch": "VARCHAR", "launch_mode": "VARCHAR", "board": "VARCHAR", "design": "VARCHAR",
    "seed": "BIGINT", "seeds": "BIGINT", "target_clock_hz": "DOUBLE",
}  # fmt: skip

_RECORD = {
    "record": "VARCHAR", "workload": "VARCHAR", "case": "VARCHAR", "implementation": "VARCHAR", "device": "VARCHAR",
    "conditions": "JSON", **CONDITIONS, "time": "TIMESTAMP", "host": "VARCHAR", "command": "VARCHAR",
    "revision": "VARCHAR", "tier": "VARCHAR", "source": "VARCHAR", "sources": "VARCHAR[]", "sources_hash": "VARCHAR",
    "tools": "JSON", "shipped": "BOOLEAN", "file": "VARCHAR",
}  # fmt: skip
_MEASUREMENT = {
    "quantity": "VARCHAR", "value": "DOUBLE", "unit": "VARCHAR", "statistic": "VARCHAR", "samples": "BIGINT",
    "low": "DOUBLE", "high": "DOUBLE", "spread": "VARCHAR", "stage": "VARCHAR", "boundary": "VARCHAR",
    "values": "DOUBLE[]",
}  # fmt: skip


class QueryError(ValueError):
    """The SQL is wrong; the message says where in a line or two."""


def query(sql: str, folders: Iterable[Path | str]) -> tuple[list[str], list[tuple[Any, ...]], list[Problem]]:
    """Run a query over the records in `folders`; return column names, rows and the records that could not be read.

    `measurements` has one row a measurement with all fields of its record, `records` one row a record. The database
    cannot reach files or the network. Errors: QueryError for bad SQL.
    """
    stored, problems = scan(*folders)
    records = [_record(item) for item in stored]
    measurements = [
        [*values, *(_plain(getattr(m, name)) for name in _MEASUREMENT)]
        for item, values in zip(stored, records, strict=True)
        for m in item.record.measurements
    ]
    with duckdb.connect() as database:
        _fill(database, "records", _RECORD, records)
        _fill(database, "measurements", {**_RECORD, **_MEASUREMENT}, measurements)
        database.execute("SET enable_external_access = false")
        try:
            result = database.execute(sql)
            if result is None or not result.description:  # an empty statement
                return [], [], problems
            return [column[0] for column in result.description], result.fetchall(), problems
        except duckdb.Error as error:
            raise QueryError("\n".join(str(error).strip().splitlines()[:5])) from None


def _fill(database: duckdb.DuckDBPyConnection, table: str, columns: dict[str, str], rows: list[list[Any]]) -> None:
    """Make a table and fill it through a file of JSON lines, far faster than row by row."""
    form = ", ".join(f'"{name}" {kind}' for name, kind in columns.items())
    database.execute(f"CREATE TABLE {table} ({form})")
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl", encoding="utf-8") as file:
        file.writelines(json.dumps(dict(zip(columns, row, strict=True))) + "\n" for row in rows)
        file.flush()
        if rows:
            source = "SELECT * FROM read_json(?, format = 'newline_delimited', columns = ?)"
            database.execute(f"INSERT INTO {table} {source}", [file.name, columns])


def _record(item: Stored) -> list[Any]:
    r, p = item.record, item.record.provenance
    conditions = [_condition(r.conditions.get(name), kind) for name, kind in CONDITIONS.items()]
    return [
        r.id, r.workload, r.case, r.implementation, r.device, dict(r.conditions), *conditions, p.time[:19],
        p.host, p.command, p.revision, p.tier, p.source, list(p.sources), p.sources_hash, dict(p.tools),
        item.shipped, item.path.name,
    ]  # fmt: skip


def _condition(value: Any, kind: str) -> Any:
    """Return a condition for a column of this kind; one of another kind stays in the JSON column only."""
    if value is None or kind == "VARCHAR":
        return None if value is None else str(value)
    return value if isinstance(value, (int, float)) else None


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value
