"""Checks one command line of the documentation: `Checker(...).problem_of(words)` is None if ctprof accepts it."""

import functools
import os
import pathlib
import re
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE.parent / "recompute"), str(ROOT / "tools" / "fleet")]
os.environ.setdefault("CTPROF", "ctprof")
import recordings  # noqa: E402

SUFFIX = ".ctprof.zst"
TIMEOUT = 300
READS = {"show", "compare", "noise", "report", "flame", "symbolize", "export", "metric-list", "help"}
RECORDS = {"record", "capture"}
SECRETS = {"--token-file", "--redact-key"}
# ctprof accepted a command, although the recorded captures or this host lack what it needs.
ACCEPTED = (r"it has no window in the requested span", r"this command needs DuckDB, which python3 does not have", r"no metric '(descendant|cpu_wait_histogram_ns(\[p99\])?)' in the input",
            r"the input has no entities of plugins", r"checking .build/[a-z]+\.so.: No such file")
NO_OUTPUT = "missing/output"
SEEN_NO_OUTPUT = re.compile(rf"(writing|making the directory|listening at|reading the token) '{NO_OUTPUT}")


def unpack(place):
    """Unpacks the recorded captures. Each kind becomes a file or a directory of that name."""
    recordings.unpack(place)
    stacks = place / f"stacks{SUFFIX}"
    for side in ("stack-runs", "pairs/a", "pairs/b"):
        (place / side).mkdir(parents=True)
        for number in range(1, 5):
            shutil.copy(stacks, place / side / f"{number:02}{SUFFIX}")


class Page:
    """The files that the commands of one page wrote, in a directory of their own."""

    def __init__(self, recorded, directory):
        self.recorded, self.directory = recorded, directory
        self.kinds = {}
        self.snapshots = 0
        directory.mkdir()

    def note_output(self, words, name):
        """Stores which kind of file a recording command would have written."""
        if "capture" in words:
            self.snapshots += 1
            kind = f"before{SUFFIX}" if self.snapshots == 1 else f"after{SUFFIX}"
        elif "--every" in words:
            kind = "archive"
        elif "--interleave" in words:
            kind = "pairs"
        elif "--repeat" in words:
            kind = "stack-runs" if "--recorders" in words else "runs"
        else:
            kind = f"full{SUFFIX}" if "full" in words else f"stacks{SUFFIX}"
        self.kinds[self.relative(name)] = kind

    def relative(self, name):
        return name.strip("/")

    def kind_of(self, name):
        if name in self.kinds:
            return self.kinds[name]
        if name.endswith(SUFFIX):
            return f"stacks{SUFFIX}"
        return "archive" if "log" in name else "stack-runs"

    def place(self, name):
        """Copies a recorded capture to the path where the command expects a file. Returns its path in the directory."""
        name = self.relative(name)
        path = self.directory / name
        if not path.exists():
            source = self.recorded / self.kind_of(name)
            path.parent.mkdir(parents=True, exist_ok=True)
            if source.is_dir():
                shutil.copytree(source, path)
            else:
                shutil.copy(source, path)
        return name

    def input(self, word):
        """Copies recorded captures to the paths in the word: FILE, DIR, FILE#N or A..B. Returns the word with paths in the directory."""
        parts = word.split("..") if SUFFIX + ".." in word else [word]
        names = []
        for number, part in enumerate(parts):
            file, mark, block = part.partition("#")
            if len(parts) == 2:
                self.kinds.setdefault(self.relative(file), f"{('before', 'after')[number]}{SUFFIX}")
            if mark:
                file = self.make_file_of_several_captures(file)
            names.append(self.place(file) + mark + block)
        return "..".join(names)

    def make_file_of_several_captures(self, name):
        """Copies a file of an archive, which contains several captures, to this path."""
        path = self.directory / self.relative(name)
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(next((self.recorded / "archive").glob("*.zst")), path)
        return name

    def output(self, name):
        name = self.relative(name)
        (self.directory / name).parent.mkdir(parents=True, exist_ok=True)
        return name

    def secret(self, name):
        path = self.directory / self.output(name)
        path.write_text("0123456789abcdef" * 2)
        path.chmod(0o600)
        return self.relative(name)


class Checker:
    def __init__(self, directory):
        self.directory = directory
        self.recorded = directory / "recorded"
        self.recorded.mkdir()
        unpack(self.recorded)
        self.ctprof = shutil.which(os.environ["CTPROF"])
        assert self.ctprof, f"no program '{os.environ['CTPROF']}'"
        kept = {name: value for name, value in os.environ.items() if not name.startswith("CTPROF")}
        self.environment = kept | {"LC_ALL": "C.UTF-8", "CTPROF_PAGER": "", "XDG_CONFIG_HOME": str(directory / "config"), "XDG_STATE_HOME": str(directory / "state")}

    def page(self, name):
        return Page(self.recorded, self.directory / name)

    def run(self, words, directory=None):
        return subprocess.run([self.ctprof, *words], cwd=directory or self.directory, env=self.environment, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, errors="replace", timeout=TIMEOUT, check=False)

    @functools.cached_property
    def commands(self):
        return set(re.findall(r"^  ([a-z-]+)  ", self.run(["--help"]).stdout, re.M)) | {"help"}

    @functools.cache
    def options(self, command):
        """Returns {option of the command: its argument; empty if it takes none}."""
        found = re.findall(r"^  (?:(-\w) \[ )?(--[a-z-]+)(?: \])?( [A-Z|a-z]\S*(?: CMD_B)?)?", self.run([command, "--help"]).stdout, re.M)
        return {name: value.strip() for short, long, value in found for name in (short, long) if name}

    def problem_of(self, words, page):
        """Returns why a command of a page is wrong, or None."""
        if words[0] != "ctprof":
            return self.problem_of_dev(words[1:], page)
        words = words[1:]
        command = next((word for word in words if word in self.commands), None)
        if command is None:
            return self.problem_of_run(words, page)
        if command == "fleet":
            return problem_of_fleet(words[1:])
        if command in RECORDS and "--dry-run" not in words:
            return self.problem_of_recording(command, words, page)
        if command == "live":
            return self.problem_of_output(words, page, "live requires a terminal")
        if "--to" in words and any(word.startswith("otlp.endpoint=") for word in words):
            return self.problem_of_output(self.replace_files(command, self.replace_endpoint(words), page), page, "is not the URL of a server")
        if "--listen" in words:
            return self.problem_of_output(self.replace_address_and_token(words), page)
        if command in READS or "--dry-run" in words:
            words = self.replace_files(command, words, page)
        return self.problem_of_run(words, page)

    def problem_of_run(self, words, page):
        finished = self.run(words, page.directory)
        if finished.returncode == 0 or (finished.returncode == 1 and "--fail-on" in words):
            return None
        if any(re.search(pattern, finished.stderr) for pattern in ACCEPTED):
            return None
        return f"exit status {finished.returncode}: {(finished.stderr or finished.stdout).strip()}"

    def problem_of_output(self, words, page, expected=SEEN_NO_OUTPUT):
        """ctprof must accept all options, and then report that it has no place for its output."""
        finished = self.run(words, page.directory)
        if finished.returncode != 0 and re.search(expected, finished.stderr):
            return None
        return f"exit status {finished.returncode}: {finished.stderr.strip()}"

    def problem_of_recording(self, command, words, page):
        end = words.index("--") if "--" in words else len(words)
        own, rest = words[:end], words[end:]
        at = next((at for at, word in enumerate(own) if word in ("-o", "--output")), None)
        if at is None:
            own += ["-o", NO_OUTPUT]
        elif at + 1 < len(own):
            page.note_output(own, own[at + 1])
            own[at + 1] = NO_OUTPUT
        return self.problem_of_names(command, own) or self.problem_of_output(own + rest, page)

    def problem_of_names(self, command, words):
        """Checks names of recorders and metrics, which ctprof checks only when it records."""
        for option, value in zip(words, words[1:]):
            if option in ("--recorders", "--metrics"):
                for name in value.split(","):
                    offered = [line.split("\t")[0] for line in self.run(["complete", command, option, name]).stdout.splitlines()]
                    if name not in offered:
                        return f"{option}: no '{name}'"
        return None

    @staticmethod
    def replace_endpoint(words):
        """Removes the endpoint, so that ctprof does not connect to a server."""
        return ["otlp.endpoint=" if word.startswith("otlp.endpoint=") else word for word in words]

    @staticmethod
    def replace_address_and_token(words):
        """Replaces the address or the token file by a path in a directory that does not exist, so that ctprof does not begin to listen."""
        words = list(words)
        at = words.index("--listen") + 1
        if at < len(words) and words[at].startswith("unix:"):
            words[at] = f"unix:{NO_OUTPUT}"
        elif "--token-file" in words[:-1]:
            words[words.index("--token-file") + 1] = NO_OUTPUT
        else:
            words = [word for word in words if word != "--public"] + ["--token-file", NO_OUTPUT]
        return words

    def replace_files(self, command, words, page):
        """Returns the words with paths below the directory of the page, after copying recorded captures there."""
        options, found, at = self.options(command), [], 0
        while at < len(words):
            word, value = words[at], words[at + 1] if at + 1 < len(words) else None
            takes_value = bool(options.get(word)) and value is not None
            at += 2 if takes_value else 1
            if not takes_value:
                is_file = not word.startswith("-") and word not in self.commands and (command != "help" or word.endswith(SUFFIX))
                found.append(page.input(word) if is_file else word)
            elif word in ("-o", "--output"):
                is_archive = "--dry-run" in words
                found += [word, page.place(value) if is_archive else value if value == "-" else page.output(value)]
            elif word == "--vs":
                found += [word, page.input(value)]
            elif word == "--debug-dir":
                found += [word, page.output(value + "/files").removesuffix("/files")]
            elif word in SECRETS:
                found += [word, page.secret(value)]
            else:
                found += [word, value]
        return found

    def problem_of_span(self, words):
        """Checks that the command and the options of a code span exist. A span may be a part of a command line."""
        if re.fullmatch(r"[A-Z]+|-.*", words[1]):
            return None
        if words[1] not in self.commands:
            return f"no command '{words[1]}'"
        if words[1] == "fleet":
            return None
        options = set(self.options(words[1]))
        wrong = [word for word in words[2:words.index("--") if "--" in words else None]
                 if re.match(r"--[a-z]", word) and word.partition("=")[0] not in options]
        return f"no option '{wrong[0]}' of {words[1]}" if wrong else None

    @functools.cached_property
    def dev_usage(self):
        return subprocess.run([ROOT / "tools" / "dev", "help"], capture_output=True, text=True, check=True).stdout

    def problem_of_dev(self, words, page):
        if words[:1] == ["ctprof"]:
            return self.problem_of(words, page)
        usage = self.dev_usage
        if not words or not re.search(rf"^  tools/dev {re.escape(words[0])}\b", usage, re.M):
            return "no such command of tools/dev"
        wrong = [word for word in words[1:] if word.startswith("--") and not re.search(rf"^\s+{re.escape(word)}\b", usage, re.M)]
        return f"no option '{wrong[0]}' of tools/dev" if wrong else None


def problem_of_fleet(words):
    """Checks the words with the parser of `ctprof fleet`; running the command needs DuckDB (tests/fleet/page_test.py)."""
    from ctprof_fleet import command, errors
    if not words or words[0] not in command.SUBCOMMANDS:
        return f"no subcommand '{' '.join(words[:1])}' of fleet"
    try:
        command.make_parser(words[0]).parse_args(words[1:])
    except errors.FleetError as error:
        return str(error)
    return None
