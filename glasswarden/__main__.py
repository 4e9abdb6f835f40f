"""`python -m glasswarden`: the command, for where it is not on the PATH."""

from glasswarden.cli.main import main

main(prog_name="glasswarden")
