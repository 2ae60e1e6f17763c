"""Has attempts carried out: in this process."""
