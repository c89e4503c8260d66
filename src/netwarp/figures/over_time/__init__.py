"""One run over time: job and records → lines, bands and marks → one chart of several panels."""
