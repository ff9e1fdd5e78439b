"""Tokens, sentences, normal forms of names, and word vectors."""
