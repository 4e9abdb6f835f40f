"""Program 2: links drift findings to the records of direct writes, and reports on them."""
