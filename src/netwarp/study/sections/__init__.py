"""The sections of a study file, each with its keys, and the types of their values."""
