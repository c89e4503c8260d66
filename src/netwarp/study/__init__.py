"""TOML or options → a validated study: a question as data."""

from netwarp.study.load import load_study
from netwarp.study.study import Study, StudyFile, study_from_mapping

__all__ = [
    "Study",
    "StudyFile",
    "load_study",
    "study_from_mapping",
]
