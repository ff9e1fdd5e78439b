"""Linking: where text, knowledge of entities and the learner meet."""
