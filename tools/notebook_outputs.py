"""Refresh the outputs of the notebook: `python -m tools.notebook_outputs`."""

import json
import subprocess
import sys
from pathlib import Path

NOTEBOOK = Path(__file__).parents[1] / "docs" / "guide" / "notebook.ipynb"


def refresh() -> None:
    """Execute the notebook in place, and remove outputs that differ between runs."""
    command = ["nbconvert", "--execute", "--inplace", "--to", "notebook", str(NOTEBOOK)]
    subprocess.run([sys.executable, "-m", "jupyter", *command], check=True)
    notebook = json.loads(NOTEBOOK.read_text("utf-8"))
    for cell in notebook["cells"]:
        cell["metadata"] = {}
    notebook["metadata"]["language_info"] = {"name": "python"}
    text = json.dumps(notebook, indent=1, ensure_ascii=False)
    NOTEBOOK.write_text(f"{text}\n", "utf-8")


if __name__ == "__main__":
    refresh()
