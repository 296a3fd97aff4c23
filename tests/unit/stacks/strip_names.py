"""Makes of a program with debug information, as distributions do, those that have lost it: strip_names.py PROGRAM DIRECTORY SOURCE COMPILER...

  packed        .gnu_debugdata alone: a packed list of functions
  found         nothing but its build id, by which debug/.build-id/ has what was stripped, and whole/.build-id/ the program
  linked        a link to linked.debug, which has its build id
  dwzed         with what dwz found to be common with a copy of it moved out, to where debug/ has it; only where there is dwz
  zstd          with debug information that is packed by zstd; only where objcopy can
  symbols       with a packed list of symbols; only where there is eu-elfcompress
  unsplit       SOURCE compiled, with debug information; `split`: with that in a .dwo file beside it; `split4`: the same as DWARF 4;
                `packaged`, `packaged4`: with it in a .dwp file beside it; only where there is dwp
  unidentified  a link to unidentified.debug, with its checksum; neither has a build id
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


def keep(file, number, directory, ending):
    place = os.path.join(directory, ".build-id", number[:2])
    os.makedirs(place, exist_ok=True)
    shutil.copy(file, os.path.join(place, number[2:] + ending))


def move_common(program, to, debug):
    twin, common = to + ".twin", to + ".common"
    for path in (to, twin):
        shutil.copy(program, path)
    run("objcopy", "--remove-section=.note.gnu.build-id", twin)
    run("dwz", "-m", common, "-M", os.path.abspath(common), to, twin)
    keep(common, build_id(common), debug, ".debug")


def pack_unit(unit, package):
    """What dwp does, which knows no DWARF 5: the index of one unit, whose parts are whole sections."""
    numbers = {".debug_info.dwo": 1, ".debug_abbrev.dwo": 3, ".debug_line.dwo": 4, ".debug_str_offsets.dwo": 6, ".debug_rnglists.dwo": 8}
    sections = (line.split("]", 1)[1].split() for line in run("readelf", "-SW", unit).splitlines() if ".dwo" in line and "]" in line)
    places = {name: (int(at, 16), int(size, 16)) for name, _, _, at, size, *_ in sections if name in numbers}
    with open(unit, "rb") as file:
        file.seek(places[".debug_info.dwo"][0])
        identity = file.read(20)[12:]  # behind length, version, type, size of addresses, and place of abbreviations
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
    keep(to["linked"] + ".debug", number, to["debug"], ".debug")
    keep(program, number, to["whole"], "")
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
