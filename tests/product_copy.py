"""A copy of the built ctprof and its plugins that every user can reach; a build tree may be in a home directory that others cannot enter."""

import glob
import os
import shutil


def product_copy(ctprof, directory):
    """Copies into `directory`, with the structure of a build tree. Returns the path of the program."""
    program = os.path.realpath(ctprof)
    build = os.path.dirname(os.path.dirname(os.path.dirname(program)))
    copy = os.path.join(directory, "tools", "ctprof", "ctprof")
    os.makedirs(os.path.dirname(copy))
    shutil.copy(program, copy)
    os.mkdir(os.path.join(directory, "plugins"))
    for plugin in glob.glob(os.path.join(build, "plugins", "*.so")):
        shutil.copy(plugin, os.path.join(directory, "plugins"))
    with open(os.path.join(directory, "build.ninja"), "w", encoding="utf-8"):
        return copy
