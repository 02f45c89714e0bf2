"""A job on one page of HTML, to send and to keep."""
