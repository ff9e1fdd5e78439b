"""Text as such: tokens, sentences and the forms of names."""
