"""Reads the type information (BTF) of a kernel that is not running from its image: a bzImage for x86, an Image for arm64.

In scope:       the header of a bzImage, unpacking its payload (zstd), the .BTF section of the ELF in it; finding the BTF header in an Image,
                which has the memory layout of the kernel.
Out of scope:   what the BTF is used for (schedulers.py).
"""

import struct
import subprocess

# Offsets in the header of the x86 boot protocol.
SETUP_SECTORS, PAYLOAD_OFFSET, PAYLOAD_LENGTH = 0x1F1, 0x248, 0x24C
SECTOR = 512
ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"

IMAGE_MAGIC_AT, IMAGE_MAGIC = 56, b"ARM\x64"
BTF_HEADER = struct.pack("<HBBI", 0xEB9F, 1, 0, 24)  # magic, version, flags, header length


def payload(image):
    """Returns the compressed kernel."""
    sectors = image[SETUP_SECTORS] or 4
    offset, length = struct.unpack_from("<I", image, PAYLOAD_OFFSET)[0], struct.unpack_from("<I", image, PAYLOAD_LENGTH)[0]
    start = (sectors + 1) * SECTOR + offset
    return image[start:start + length]


def unpack_kernel(image):
    """Returns the ELF of the kernel, or None if it is not packed with zstd. Kernels with sched_ext are. The compressed data ends with its size."""
    packed = payload(image)
    if not packed.startswith(ZSTD_MAGIC):
        return None
    return subprocess.run(["zstd", "-dcq"], input=packed[:-4], capture_output=True, check=True).stdout


def section(elf, wanted):
    """Returns the bytes of a section of a 64-bit little-endian ELF, or None."""
    table, = struct.unpack_from("<Q", elf, 0x28)
    size, count, names = struct.unpack_from("<HHH", elf, 0x3A)
    headers = [struct.unpack_from("<IIQQQQ", elf, table + number * size) for number in range(count)]
    strings = headers[names][4]
    for name, _, _, _, offset, length in headers:
        start = strings + name
        if elf[start:elf.index(b"\0", start)] == wanted:
            return elf[offset:offset + length]
    return None


def find_in_image(image):
    """Finds the BTF by its header. The types come first, and the strings are at the end."""
    start = image.find(BTF_HEADER)
    while start >= 0:
        types_at, types, strings_at, strings = struct.unpack_from("<IIII", image, start + len(BTF_HEADER))
        end = start + BTF_HEADER[4] + strings_at + strings
        if types_at == 0 and strings_at == types > 0 and end <= len(image):
            return image[start:end]
        start = image.find(BTF_HEADER, start + 1)
    return None


def read_btf(path):
    with open(path, "rb") as file:
        image = file.read()
    if image[IMAGE_MAGIC_AT:].startswith(IMAGE_MAGIC):
        return find_in_image(image)
    elf = unpack_kernel(image)
    return section(elf, b".BTF") if elf else None
