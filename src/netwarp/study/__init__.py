"""TOML or options → a validated study: a question as data."""

from netwarp.study.study import Study, StudyFile, load_study, study_from_mapping

__all__ = [
    "Study",
    "StudyFile",
    "load_study",
    "study_from_mapping",
]
