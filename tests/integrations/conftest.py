"""A pipeline of a ruler that knows the starter's names, and the linker behind it."""

import pytest
import spacy

from experiments.starter_data import read_contrast, read_starter

TEXT = (
    "Jordan passed, Pippen scored, and the Bulls beat Utah again in 1997. In Amman the king of "
    "Jordan watched them on television; in Petra nobody did, and Xyzzy neither."
)


def starter_documents():
    """The starter's texts, with gold."""
    pairs = [document for _, *texts in read_contrast() for document in texts]
    return [*(one for split in read_starter().values() for one in split), *pairs]


@pytest.fixture(scope="session")
def documents():
    """A part of them."""
    return starter_documents()[::8]


@pytest.fixture(scope="session")
def ruled(documents):
    """Return a pipeline with a ruler of all names in the texts, and a linker of this config."""
    names = {mention.text for document in documents for mention in document.mentions}
    names |= {"Jordan", "Pippen", "Utah", "Amman", "Petra", "Paris"}
    labels = {
        **dict.fromkeys([*sorted(names), "Xyzzy"], "NAME"),
        "the Bulls": "ORG",
        "1997": "DATE",
    }
    # Token by token: spaCy's ruler forgets phrases that come as bytes.
    words = spacy.blank("en").tokenizer
    patterns = [
        {"label": label, "pattern": [{"ORTH": token.text} for token in words(name)]}
        for name, label in labels.items()
    ]

    def make(**config):
        nlp = spacy.blank("en")
        nlp.add_pipe("entity_ruler").add_patterns(patterns)
        nlp.add_pipe("sgtb_linker", config=config)
        return nlp

    return make


@pytest.fixture(scope="session")
def nlp(ruled):
    return ruled(reasons=True)
