"""Output of a study's results: tables, a JSON object, other formats, and comparisons."""
