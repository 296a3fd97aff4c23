#!/usr/bin/env python3
"""Writes vocabulary.hpp from its three tables: every metric that ships with ctprof, as a typed constant.

    generate.py metrics.tsv mapkeys.tsv headlines.tsv vocabulary.hpp

Rows of the plugin "core" are identity columns, which the core declares itself; they are omitted here.
"""

import csv
import json
import sys
from collections import defaultdict

ENTITIES = {"thread": ("Thread", "threads[]."), "process": ("Process", "threads[]."),
            "cgroup": ("Cgroup", "cgroup_stats[]."), "host": ("Host", "metrics.")}

# Column of the table -> field of sdk::About or ctprof_derived, in the order of the struct; a value
# that equals the default is omitted.
METRIC_FIELDS = [("name", "name", None), ("unit", "unit", ""), ("family", "family", ""), ("section", "section", "primary"),
                 ("sched_class", "sched_class", ""), ("config_gates", "config_gates", ""), ("applies_to", "applies_to", "all"),
                 ("since", "since", ""), ("source", "source", ""), ("description", "description", ""),
                 ("kernel_writer", "kernel_writer", ""), ("caveat", "caveat", ""), ("file_path", "file_path", ""),
                 ("file_aliases", "file_aliases", ""), ("file_unit", "file_unit", ""), ("file_if_absent", "file_absent", "omit"),
                 ("mark", "mark", ""), ("map_keys", "map_keys", ""), ("flag_bits", "flags", ""), ("headline", "headline", ""),
                 ("role", "role", "")]
# Fields that contain a C++ expression instead of a text.
EXPRESSIONS = {"flags", "headline"}
# All fields are written: a C struct has no defaults, and the compiler does not report omitted ones.
DERIVED_FIELDS = [(name, {"formula": "expression"}.get(name, name), None)
                  for name in ("name", "formula", "unit", "family", "section", "sched_class", "config_gates", "applies_to",
                               "description", "caveat")] + [("headline", "headline", "")]


def read_rows(path):
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


def format_map_keys(rows):
    """metric -> "gauge bytes: a b; counter count: *" (the grammar of abi.h).

    The star represents the family and unit that all keys of a metric share. Otherwise it represents
    plain counters, because most new keys are counters.
    """
    groups = defaultdict(lambda: defaultdict(list))
    for row in rows:
        family = {"cumulative": "counter"}.get(row["family"], row["family"])
        groups[row["metric"]][f"{family} {row['unit']}"].append(row["key"])
    result = {}
    for metric, kinds in groups.items():
        default_kind = next(iter(kinds)) if len(kinds) == 1 else "counter count"
        named = [f"{kind}: {' '.join(keys)}" for kind, keys in kinds.items() if kind != default_kind]
        result[metric] = "; ".join(named + [default_kind + ": *"])
    return result


def identifier(name):
    return name.replace(".", "_")


def camel_case(plugin):
    return "".join(part.capitalize() for part in plugin.replace("_", "-").split("-"))


def format_fields(row, columns):
    return [f".{field} = {row[column] if field in EXPRESSIONS else json.dumps(row[column], ensure_ascii=False)}"
            for column, field, default in columns if row[column] != default]


def format_headline(row):
    parts = [".size = sizeof(ctprof_headline)", f".order = {row['order']}", f".label = {json.dumps(row['label'])}",
             f".shown = CTPROF_SHOWN_{row['shown'].upper()}", ".flags = 0", f".floor = {row['floor']}"]
    return f"inline constexpr ctprof_headline {headline_name(row['metric'])}{{\n    " + ",\n    ".join(parts) + "};\n"


def headline_name(metric):
    return identifier(metric) + "_headline"


def format_metric(row, keys):
    entity, table = ENTITIES[row["entity"]]
    flags = (["mark"] if row["kind"] == "mark" else []) + row["flags"].split()
    row = dict(row, map_keys=keys.get(row["name"], ""), flag_bits=" | ".join(f"CTPROF_METRIC_{flag.upper()}" for flag in flags))
    if row["file_path"] == table + row["name"]:
        row["file_path"] = ""
    parts = format_fields(row, METRIC_FIELDS)
    type_ = f"sdk::Metric<sdk::{row['newtype']}, sdk::{row['rule']}, sdk::Entity::{entity}>"
    return f"inline constexpr {type_} {identifier(row['name'])}{{{{\n    " + ",\n    ".join(parts) + "}};\n"


def format_derived(row):
    entity = f"CTPROF_{row['entity'].upper()}"
    parts = [".size = sizeof(ctprof_derived)", f".entity = {entity}"] + format_fields(row, DERIVED_FIELDS)
    return f"inline constexpr ctprof_derived {identifier(row['name'])}{{\n    " + ",\n    ".join(parts) + "};\n"


def format_array(name, items):
    return f"inline constexpr std::array {name}{{\n    " + ",\n    ".join(items) + "};\n" if items else ""


def format_arrays(rows):
    """Returns the arrays of all metrics and all derived metrics, and those of each plugin.

    Derived metrics are in the load order of plugins: by name.
    """
    def format_both(prefix, wanted):
        metrics = [identifier(r["name"]) + ".abi" for r in wanted if r["kind"] != "derived"]
        formulas = [identifier(r["name"]) for r in sorted(wanted, key=lambda r: r["plugin"]) if r["kind"] == "derived"]
        return format_array(f"k{prefix}Metrics", metrics) + format_array(f"k{prefix}Derived", formulas)
    plugins = list(dict.fromkeys(row["plugin"] for row in rows))
    return "".join(format_both(camel_case(plugin), [r for r in rows if r["plugin"] == plugin]) for plugin in plugins) + format_both("All", rows)


def format_header(rows, keys, headlines):
    shown = {row["metric"] for row in headlines}
    rows = [dict(row, headline="&" + headline_name(row["name"]) if row["name"] in shown else "") for row in rows]
    lines = [format_headline(row) for row in headlines] + [format_derived(row) if row["kind"] == "derived" else format_metric(row, keys) for row in rows]
    return ("// Made by plugins/vocabulary/generate.py from metrics.tsv, mapkeys.tsv and headlines.tsv: edit those.\n\n#pragma once\n\n#include <array>\n\n"
            '#include "ctprof/abi.h"\n#include "ctprof/metric.hpp"\n\nnamespace ctprof::vocabulary {\n\n'
            + "\n".join(lines) + "\n" + format_arrays(rows) + "\n}  // namespace ctprof::vocabulary\n")


def main(metrics, keys, headlines, out):
    rows = [row for row in read_rows(metrics) if row["plugin"] != "core"]
    with open(out, "w", encoding="utf-8") as file:
        file.write(format_header(rows, format_map_keys(read_rows(keys)), read_rows(headlines)))


if __name__ == "__main__":
    main(*sys.argv[1:])
