"""Creates variants of a program whose debug information is stripped as distributions do it.

    strip_names.py PROGRAM DIRECTORY SOURCE COMPILER...

  packed        only .gnu_debugdata: a compressed list of functions
  found         only a build id; debug/.build-id/ has its debug information, whole/.build-id/ the program
  linked        a debug link to linked.debug, which has the same build id
  dwzed         dwz moved the parts that it shares with a copy to a file below debug/; needs dwz
  zstd          debug information compressed with zstd; needs support by objcopy
  symbols       a compressed symbol list; needs eu-elfcompress
  unsplit       SOURCE compiled with debug information
  split, split4         debug information in a .dwo file, as DWARF 5 and 4
  packaged, packaged4   debug information in a .dwp file, as DWARF 5 and 4; needs dwp
  unidentified  a debug link to unidentified.debug with its checksum; neither has a build id
"""

import lzma
import os
import shutil
import struct
import subprocess
import sys


def run(*words, cwd=None):
    return subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True, cwd=cwd).stdout


def build_id(program):
    return next(line.split()[-1] for line in run("readelf", "-n", program).splitlines() if "Build ID:" in line)


def pack(program, to):
    listed = to + ".list"
    run("objcopy", "--strip-debug", "--remove-section=.comment", program, listed)
    run("objcopy", "--only-keep-debug", listed)
    with open(listed, "rb") as small, open(to + ".xz", "wb") as packed:
        packed.write(lzma.compress(small.read()))
    run("objcopy", f"--add-section=.gnu_debugdata={to}.xz", to)


def link(program, to, *options):
    run("objcopy", "--only-keep-debug", *options, program, to + ".debug")
    run("objcopy", "--strip-all", *options, f"--add-gnu-debuglink={to}.debug", program, to)


def store_by_build_id(file, number, directory, ending):
    place = os.path.join(directory, ".build-id", number[:2])
    os.makedirs(place, exist_ok=True)
    shutil.copy(file, os.path.join(place, number[2:] + ending))


def move_common(program, to, debug):
    twin, common = to + ".twin", to + ".common"
    for path in (to, twin):
        shutil.copy(program, path)
    run("objcopy", "--remove-section=.note.gnu.build-id", twin)
    run("dwz", "-m", common, "-M", os.path.abspath(common), to, twin)
    store_by_build_id(common, build_id(common), debug, ".debug")


def pack_unit(unit, package):
    """Packs one unit into a .dwp file, because dwp does not support DWARF 5. Each contribution is a whole section."""
    numbers = {".debug_info.dwo": 1, ".debug_abbrev.dwo": 3, ".debug_line.dwo": 4, ".debug_str_offsets.dwo": 6, ".debug_rnglists.dwo": 8}
    sections = (line.split("]", 1)[1].split() for line in run("readelf", "-SW", unit).splitlines() if ".dwo" in line and "]" in line)
    places = {name: (int(at, 16), int(size, 16)) for name, _, _, at, size, *_ in sections if name in numbers}
    with open(unit, "rb") as file:
        file.seek(places[".debug_info.dwo"][0])
        identity = file.read(20)[12:]  # after length, version, type, address size, and abbreviation offset
    index = struct.pack("<HHIII", 5, 0, len(places), 1, 2) + bytes(8) + identity + struct.pack("<II", 0, 1)
    index += struct.pack(f"<{len(places)}I", *(numbers[name] for name in places)) + bytes(4 * len(places))
    index += struct.pack(f"<{len(places)}I", *(size for _, size in places.values()))
    with open(package + ".index", "wb") as file:
        file.write(index)
    run("objcopy", f"--add-section=.debug_cu_index={package}.index", unit, package)


def split(directory, source, compiler):
    stem = os.path.splitext(os.path.basename(source))[0]

    def compile_to(name, *options):
        run(*compiler, "-O2", "-g", *options, os.path.abspath(source), "-o", name, cwd=directory)

    compile_to("unsplit")
    compile_to("split", "-gsplit-dwarf")
    compile_to("split4", "-gsplit-dwarf", "-gdwarf-4")
    if not shutil.which("dwp"):
        return
    compile_to("packaged", "-gsplit-dwarf", "-gdwarf-5")
    compile_to("packaged4", "-gsplit-dwarf", "-gdwarf-4")
    pack_unit(os.path.join(directory, f"packaged-{stem}.dwo"), os.path.join(directory, "packaged.dwp"))
    run("dwp", f"packaged4-{stem}.dwo", "-o", "packaged4.dwp", cwd=directory)
    for name in ("packaged", "packaged4"):
        os.remove(os.path.join(directory, f"{name}-{stem}.dwo"))


def main(program, directory, source, *compiler):
    os.makedirs(directory, exist_ok=True)
    to = {name: os.path.join(directory, name) for name in ("packed", "found", "linked", "unidentified", "dwzed", "debug", "whole")}
    for name in ("packed", "found"):
        run("strip", "--strip-all", "-o", to[name], program)
    pack(program, to["packed"])
    link(program, to["linked"])
    link(program, to["unidentified"], "--remove-section=.note.gnu.build-id")
    number = build_id(program)
    store_by_build_id(to["linked"] + ".debug", number, to["debug"], ".debug")
    store_by_build_id(program, number, to["whole"], "")
    packing = ["objcopy", "--compress-debug-sections=zstd", program, os.path.join(directory, "zstd")]
    subprocess.run(packing, check=False, stderr=subprocess.DEVNULL)
    if shutil.which("eu-elfcompress"):
        run("eu-elfcompress", "--force", "--permissive", "--type=zlib", "--name=.symtab", "--name=.strtab", "-o",
            os.path.join(directory, "symbols"), program)
    split(directory, source, compiler)
    if shutil.which("dwz"):
        move_common(program, to["dwzed"], to["debug"])


if __name__ == "__main__":
    main(*sys.argv[1:])
