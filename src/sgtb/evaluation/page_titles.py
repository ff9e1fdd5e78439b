"""Titles of pages: their normal form, and where redirects lead."""

from collections.abc import Mapping


def normal_title(title: str) -> str:
    """Return a title with single spaces for underscores and white space, and a first capital."""
    spaced = " ".join(title.replace("_", " ").split())
    capital = spaced[:1].upper()
    # ß would become SS, and no page is called that.
    return capital + spaced[1:] if len(capital) == 1 else spaced


def resolve(title: str, redirects: Mapping[str, str]) -> str:
    """Follow redirects from a title to the last one, in normal form.

    `redirects` is looked up, never copied: it may be a table of millions. Its keys have a first
    capital, and spaces or underscores. Redirects that go round in a circle all lead to the title
    of the circle that sorts first, so that its titles still count as one.
    """
    path = [normal_title(title)]
    while (target := _target(path[-1], redirects)) is not None:
        if target in path:
            return min(path[path.index(target) :])
        path.append(target)
    return path[-1]


def _target(title: str, redirects: Mapping[str, str]) -> str | None:
    for key in (title, title.replace(" ", "_")):
        target = redirects.get(key)
        if target is not None:
            return normal_title(target)
    return None
