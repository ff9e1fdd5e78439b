"""Plain pages: a knowledge base from titles and texts without markup."""
