"""Explanations: rescoring, counterfactuals, contributions."""
