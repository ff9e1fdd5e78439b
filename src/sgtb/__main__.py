"""`python -m sgtb`: the command `sgtb`."""

from sgtb.cli.main import app

if __name__ == "__main__":
    app(prog_name="sgtb")
