#!/usr/bin/env python3
"""Writes schemas.hpp: each command's schema as text, with the definitions of common.json that it uses.

    embed.py common.json COMMAND.json... schemas.hpp
"""

import json
import os
import sys

HEADER = """// Made by embed.py.

#pragma once

#include <string_view>

namespace ctprof::cli {{

struct Schema {{
  std::string_view command, text;
}};
inline constexpr Schema kSchemas[] = {{
{schemas}}};

}}  // namespace ctprof::cli
"""
PREFIX = "#/$defs/"


def references(part):
    """Returns the names of all definitions to which a part of a schema refers."""
    if isinstance(part, list):
        return {name for item in part for name in references(item)}
    if not isinstance(part, dict):
        return set()
    own = {part["$ref"].removeprefix(PREFIX)} if "$ref" in part else set()
    return own | {name for item in part.values() for name in references(item)}


def with_definitions(schema, common):
    used, new = set(), references(schema)
    while new:
        used |= new
        new = {name for known in new for name in references(common[known])} - used
    return schema | ({"$defs": {name: common[name] for name in common if name in used}} if used else {})


def load(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def main(common_path, *paths):
    common, *schemas, out = load(common_path), *paths
    entries = ""
    for path in schemas:
        command = os.path.splitext(os.path.basename(path))[0]
        text = json.dumps(with_definitions(load(path), common), indent=2)
        entries += f'    {{"{command}", R"schema({text}\n)schema"}},\n'
    with open(out, "w", encoding="utf-8") as file:
        file.write(HEADER.format(schemas=entries))


main(*sys.argv[1:])
