"""Tools for those who work on the package; nothing in it imports them."""
