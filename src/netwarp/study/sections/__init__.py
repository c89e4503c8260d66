"""The sections of a study file: their keys, and the types of the values."""
