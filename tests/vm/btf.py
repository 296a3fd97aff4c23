"""The type information (BTF) of a kernel that does not run, cut out of its bzImage.

What is here:   the bzImage's header, unpacking its payload (zstd), the .BTF section of the ELF in it.
What is not:    what is made of it (schedulers.py).
"""

import struct
import subprocess

# Offsets of Linux's x86 boot protocol.
SETUP_SECTORS, PAYLOAD_OFFSET, PAYLOAD_LENGTH = 0x1F1, 0x248, 0x24C
SECTOR = 512
ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"


def payload(image):
    """The packed kernel."""
    sectors = image[SETUP_SECTORS] or 4
    offset, length = struct.unpack_from("<I", image, PAYLOAD_OFFSET)[0], struct.unpack_from("<I", image, PAYLOAD_LENGTH)[0]
    start = (sectors + 1) * SECTOR + offset
    return image[start:start + length]


def unpacked(image):
    """The ELF of the kernel, or None: kernels with sched_ext are packed with zstd. Behind the packed bytes stands their size."""
    packed = payload(image)
    if not packed.startswith(ZSTD_MAGIC):
        return None
    return subprocess.run(["zstd", "-dcq"], input=packed[:-4], capture_output=True, check=True).stdout


def section(elf, wanted):
    """The bytes of a section of a 64-bit little-endian ELF, or None."""
    table, = struct.unpack_from("<Q", elf, 0x28)
    size, count, names = struct.unpack_from("<HHH", elf, 0x3A)
    headers = [struct.unpack_from("<IIQQQQ", elf, table + number * size) for number in range(count)]
    strings = headers[names][4]
    for name, _, _, _, offset, length in headers:
        start = strings + name
        if elf[start:elf.index(b"\0", start)] == wanted:
            return elf[offset:offset + length]
    return None


def of_kernel(path):
    with open(path, "rb") as file:
        elf = unpacked(file.read())
    return section(elf, b".BTF") if elf else None
