#!/usr/bin/env python3
"""Writes the texts of files as constants of a header: kFlameCss for flame.css.

    embed.py FILE... OUT.hpp
"""

import pathlib
import sys

HEADER = """// Written by embed.py.

#pragma once

#include <string_view>

namespace ctprof {{

{constants}
}}  // namespace ctprof
"""


def make_constant(path):
    name = "k" + "".join(part.capitalize() for part in path.name.split("."))
    return f'inline constexpr std::string_view {name} = R"embedded({path.read_text(encoding="utf-8")})embedded";\n'


*files, out = map(pathlib.Path, sys.argv[1:])
out.write_text(HEADER.format(constants="".join(map(make_constant, files))), encoding="utf-8")
