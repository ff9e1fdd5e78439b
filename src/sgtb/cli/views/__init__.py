"""What commands print: tables, pages, progress."""
