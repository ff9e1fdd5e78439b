"""The service: a linker behind HTTP, with its page. It stands outside, as the command line does."""
