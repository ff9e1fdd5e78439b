"""A repeated dump: the pages of the largest real one, repeated under new titles."""

import bz2
import os
import re
from pathlib import Path

_TITLE = re.compile(rb"<title>(.*?)</title>")


def data_folder() -> Path:
    """Return the folder of real data, if there is one."""
    return (Path(__file__).parent.parent / os.environ.get("SGTB_DATA", "../shared/data")).resolve()


def real_dump() -> Path | None:
    """Return the largest available dump; None without any."""
    dumps = sorted((data_folder() / "dumps").glob("*.bz2"), key=lambda path: path.stat().st_size)
    return dumps[-1] if dumps else None


def write_repeated(source: Path, path: Path, size: int) -> int:
    """Write a dump of at least `size` bytes; return how often the source's pages are in it.

    Links keep their targets: those of all repetitions lead to the first.
    """
    with bz2.open(source) as file:
        xml = file.read()
    first = xml.index(b"<page>")
    pages = xml[first : xml.rindex(b"</page>") + len(b"</page>")] + b"\n"
    times = 0
    with open(path, "wb") as out:
        out.write(xml[:first])
        while times == 0 or out.tell() < size:
            mark = b"" if times == 0 else b" %d" % times
            out.write(_TITLE.sub(rb"<title>\g<1>" + mark + b"</title>", pages))
            times += 1
        out.write(b"</mediawiki>\n")
    return times
