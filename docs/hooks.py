"""MkDocs hooks: pages from the repository's root, and links that leave the documentation."""

import re
from pathlib import Path, PurePosixPath
from posixpath import normpath, relpath
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

from sgtb.linking.features.schema import GROUPS

ROOT = Path(__file__).parents[1]
ROOT_PAGES = {"CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md"}
"""Pages of the site that stand at the root of the repository."""
FEATURE_GROUPS = "<!-- feature groups -->"
"""Where a page has the table of feature groups."""
_LINK = re.compile(r"(?<!!)\[([^\]]*)\]\(([^)#\s:]+)(#[^)\s]*)?\)")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages of the repository's root."""
    for source, page in ROOT_PAGES.items():
        text = _site_links((ROOT / source).read_text("utf-8"), source)
        files.append(File.generated(config, page, content=text))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Fill in generated tables; point links to files outside of `docs/` to their page."""
    markdown = markdown.replace(FEATURE_GROUPS, feature_table())
    if page.file.src_uri in ROOT_PAGES.values():
        return markdown
    return _site_links(markdown, f"docs/{page.file.src_uri}")


def feature_table() -> str:
    """Return the feature groups as a Markdown table."""
    rows = [f"| `{group.key}` | {group.label} | {group.about} |" for group in GROUPS]
    return "\n".join(["| group | label | content |", "|---|---|---|", *rows])


def _site_links(markdown: str, source: str) -> str:
    """Rewrite the relative links of a page that stands at `source` in the repository."""
    folder = PurePosixPath(source).parent
    here = "" if source in ROOT_PAGES else relpath(folder, "docs")

    def rewrite(link: re.Match[str]) -> str:
        label, path, anchor = link[1], link[2], link[3] or ""
        target = normpath((folder / path).as_posix())
        if target in ROOT_PAGES:
            target = f"docs/{ROOT_PAGES[target]}"
        if not target.startswith("docs/"):
            return label
        return f"[{label}]({relpath(target.removeprefix('docs/'), here or '.')}{anchor})"

    return _LINK.sub(rewrite, markdown)
