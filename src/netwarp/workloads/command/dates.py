"""The date at which programs start in virtual time: from the study, never today's."""

from datetime import UTC, datetime
from typing import Annotated

from pydantic import BeforeValidator

from netwarp.fields import Kind
from netwarp.units import UnitError

START_DATE = datetime(2027, 1, 1, tzinfo=UTC)
"""Default start date, at which certificates that were made in the year before are usually valid."""
FIRST_YEAR = 1980
LAST_YEAR = 2199


def parse_date(value: object) -> datetime:
    """Parse a date in UTC, with or without a time of day.

    Raises:
        UnitError: it is not a date, or a guest's clock cannot have it.
    """
    if isinstance(value, datetime):
        return value
    try:
        read = datetime.fromisoformat(value if isinstance(value, str) else "")
    except ValueError:
        remedy = 'such as "2026-11-23", or "2026-11-23T12:00:00"'
        raise UnitError("not a date as a text", remedy) from None
    moment = read.replace(tzinfo=UTC) if read.tzinfo is None else read.astimezone(UTC)
    if not FIRST_YEAR <= moment.year <= LAST_YEAR:
        raise UnitError("not a year of a guest's clock", f"choose {FIRST_YEAR} to {LAST_YEAR}")
    return moment


StartDate = Annotated[
    datetime, BeforeValidator(parse_date), Kind('a date in UTC, such as `"2026-11-23"`')
]
