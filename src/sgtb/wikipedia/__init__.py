"""Wikipedia dumps: streaming their pages, reading their markup."""
