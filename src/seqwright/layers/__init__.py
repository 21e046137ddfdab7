"""Building blocks with no opinions: they import only torch and know nothing of files, losses or devices."""
