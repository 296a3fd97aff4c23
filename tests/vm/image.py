"""The guest's root disk: a directory tree and the ext4 image of it. Needs no root rights and no mounts.

    image = Image(directory, system)
    image.add("/opt/file", "/some/file")            a file of the host under another name
    image.add_program("/opt/tool", "/some/tool")    also the shared libraries that it needs, under their own names
    image.make("disk.img", "/opt/tool --all")

In scope:       the files of every guest: busybox, the first program, libraries; mke2fs.
Out of scope:   where files come from (systems.py), the purpose of a guest (suite.py), running it (guest.py).
"""

import os
import shutil
import subprocess

HERE = os.path.dirname(os.path.realpath(__file__))
BUSYBOX = "/bin/busybox"
PASSWD = "root:x:0:0:root:/:/bin/sh\nuser:x:1000:1000:user:/:/bin/sh\n"
SIZE = "512M"  # sparse


class Image:
    def __init__(self, directory, system):
        self.system = system
        self.root = os.path.join(directory, "root")
        for place in ("bin", "etc", "proc", "sys", "dev", "run", "tmp", "out", "disk", "root"):
            os.makedirs(os.path.join(self.root, place))
        self.add("/bin/busybox", system.path(BUSYBOX))
        self.add("/init", os.path.join(HERE, "guest", "init.sh"))
        for applet in subprocess.run([BUSYBOX, "--list"], capture_output=True, text=True, check=True).stdout.split():
            if applet != "busybox":
                os.symlink("busybox", os.path.join(self.root, "bin", applet))
        self.write("/etc/passwd", PASSWD)

    def place(self, path):
        place = os.path.join(self.root, path.lstrip("/"))
        os.makedirs(os.path.dirname(place), exist_ok=True)
        return place

    def add(self, path, source):
        shutil.copy(source, self.place(path))
        os.chmod(self.place(path), 0o755)

    def write(self, path, text):
        with open(self.place(path), "w", encoding="utf-8") as file:
            file.write(text)

    def add_program(self, path, source):
        """Adds a program, or a library that a program will load."""
        self.add(path, source)
        for library in self.system.libraries(source):
            if not os.path.exists(os.path.join(self.root, library.lstrip("/"))):
                self.add(library, self.system.path(library))

    def make(self, disk, command):
        self.write("/command", command + "\n")
        subprocess.run(["mke2fs", "-q", "-F", "-t", "ext4", "-O", "^has_journal", "-E", "lazy_itable_init=1", "-d", self.root, disk, SIZE],
                       check=True, stdin=subprocess.DEVNULL, capture_output=True)


def take_out(disk, directory):
    """Copies the guest's /out to <directory>/out."""
    subprocess.run(["debugfs", "-R", f"rdump /out {directory}", disk], check=True, capture_output=True)
