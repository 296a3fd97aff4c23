"""MkDocs hooks: the site contains the README of each directory beside the pages of docs/.

A page of docs/ refers to 'core/README.md' of the tree as '../core/README.md'. In the site the page is at the top, so the
hook removes the '../'. A link from a README to a file that is not a page, such as a source file, becomes plain text.
"""

import os
import posixpath
import re

from mkdocs.structure.files import File

LINK = re.compile(r"(?<!!)\[([^\]]*)\]\(([^)#\s]+)(#[^)\s]*)?\)")
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def list_readmes():
    """Yields READMEs and other pages of the tree outside docs/, except the README at its top."""
    for directory, names, files in os.walk(ROOT):
        names[:] = sorted(name for name in names if not name.startswith((".", "build")) and os.path.join(directory, name) != os.path.join(ROOT, "docs"))
        if directory != ROOT:
            yield from (os.path.relpath(os.path.join(directory, name), ROOT) for name in sorted(files) if name.endswith(".md"))


def on_files(files, config):
    for path in list_readmes():
        files.append(File(path, ROOT, config["site_dir"], config["use_directory_urls"]))
    return files


def on_page_markdown(markdown, page, config, files):
    is_readme = os.path.abspath(page.file.abs_src_path) == os.path.join(ROOT, page.file.src_uri)
    source = page.file.src_uri if is_readme else "docs/" + page.file.src_uri

    def rewrite_link(match):
        text, target, anchor = match.group(1), match.group(2), match.group(3) or ""
        if re.match(r"[a-z]+:", target):
            return match.group()
        path = posixpath.normpath(posixpath.join(posixpath.dirname(source), target))
        path = "index.md" if path == "README.md" else path.removeprefix("docs/")
        if files.get_file_from_path(path) is None:
            return match.group() if path.endswith(".md") else text  # --strict reports a missing page
        return f"[{text}]({posixpath.relpath(path, posixpath.dirname(page.file.src_uri) or '.')}{anchor})"

    return LINK.sub(rewrite_link, markdown)
