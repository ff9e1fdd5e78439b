"""The starter: a small world of shared names, texts about it, and a linker trained on them.

See README.md there. `make starter` builds knowledge base and model from the other files.
"""

from pathlib import Path

STARTER = "starter"  # name of the starter where a model is named
FOLDER = Path(__file__).parent
ENTITIES = FOLDER / "entities.jsonl"
DOCUMENTS = FOLDER / "documents.txt"
CONTRAST = FOLDER / "contrast.txt"
KINDS = FOLDER / "kinds.txt"
KB = FOLDER / "kb"
EXAMPLES = FOLDER / "examples.txt"
MODEL = FOLDER / "model.safetensors"
