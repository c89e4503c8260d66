"""Reads and validates studies, from TOML files or from command-line options."""

from netwarp.study.load import load_study
from netwarp.study.study import Study, StudyFile, study_from_mapping

__all__ = [
    "Study",
    "StudyFile",
    "load_study",
    "study_from_mapping",
]
