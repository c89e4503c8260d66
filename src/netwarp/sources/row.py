"""A row of a scorecard: a conclusion, its verdict, and how reliable the verdict is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from netwarp.claims import ClaimResult, ClaimVerdict
from netwarp.study.variants import Control, Sensitivity

if TYPE_CHECKING:
    from netwarp.claims.effects import Effect

NOT_SHOWN = "the control does not show it"
NOT_TRIED = "not tried"

SIDES = {
    ClaimVerdict.REPRODUCED: "for",
    ClaimVerdict.SMALLER: "for",
    ClaimVerdict.LARGER: "for",
    ClaimVerdict.PARTLY: "for",
    ClaimVerdict.SIZE_UNDECIDED: "for",
    ClaimVerdict.PARTLY_REVERSED: "against",
    ClaimVerdict.REVERSED: "against",
    ClaimVerdict.EQUIVALENT: "neither",
    ClaimVerdict.DEPENDS: "both",
}
"""Whether a verdict is for or against its claim. Two verdicts contradict each other if one is for
it and one against; verdicts that are not listed decide nothing."""
SIZES = (ClaimVerdict.REPRODUCED, ClaimVerdict.SMALLER, ClaimVerdict.LARGER)
"""Verdicts that also decide the size of a lead. Any two different ones contradict each other: the
last two occur only for claims that state a size."""


@dataclass(frozen=True)
class Dependence:
    """How the verdict on a conclusion depends on a choice that the study had to make: the verdict
    under the study's own choice, and under each other choice.
    """

    sensitivity: Sensitivity
    verdict: ClaimResult
    """The verdict under the study's own choice."""
    others: tuple[tuple[str, ClaimResult], ...]
    """The verdict under each other choice, with the choice's name; empty if none was tried."""

    @property
    def is_contradicted(self) -> bool:
        """Whether the verdict under another choice contradicts the verdict under the study's own
        choice.
        """
        here = self.verdict.verdict
        return any(contradict(here, other.verdict) for _, other in self.others)

    @property
    def text(self) -> str:
        """The verdict under each choice, as text."""
        chosen = self.sensitivity.chosen
        if not self.others:
            return (
                f"{chosen}, which we chose: {NOT_TRIED} with another than {self.sensitivity.here}"
            )
        words = [(self.sensitivity.here, self.verdict), *self.others]
        listed = ", ".join(f"{result.word} with {name}" for name, result in words)
        verb = "depends on " if self.is_contradicted else ""
        return f"{verb}{chosen}, which we chose: {listed}"

    def to_json(self) -> dict[str, Any]:
        """Return the fields that `--json` prints."""
        return {
            "id": self.sensitivity.id,
            "chosen": self.sensitivity.chosen,
            "here": self.sensitivity.here,
            "contradicts": self.is_contradicted,
            "others": [
                {"choice": name, "verdict": result.word, "found": result.found}
                for name, result in self.others
            ],
        }


def contradict(one: ClaimVerdict, other: ClaimVerdict) -> bool:
    """Return whether two verdicts on a claim, under two choices, contradict each other."""
    sides = {SIDES.get(one), SIDES.get(other)}
    if None in sides:
        return False
    return len(sides) > 1 or (one is not other and one in SIZES and other in SIZES)


@dataclass(frozen=True)
class Stability:
    """Whether the verdict on a conclusion stays the same with other seeds: the words for all its
    verdicts.
    """

    word: str
    """The word for the verdict with the study's own seed, such as `reproduced`."""
    words: tuple[str, ...]
    """The word for the verdict with each other seed."""

    @property
    def same(self) -> int:
        """Number of other seeds that give the same verdict."""
        return self.words.count(self.word)

    @property
    def text(self) -> str:
        """A text such as `2 of 3 seeds; else undecided`."""
        others = dict.fromkeys(word for word in self.words if word != self.word)
        rest = f"; else {', '.join(others)}" if others else ""
        return f"{self.same} of {len(self.words)} seeds{rest}"


@dataclass(frozen=True)
class ScoreRow:
    """A conclusion with its verdict, its control, and what the verdict depends on."""

    result: ClaimResult
    """The verdict under the study's own choices, with its findings."""
    control: Control | None = None
    effect: Effect | None = None
    """How the control changed the effect; None if no control was run."""
    dependences: tuple[Dependence, ...] = ()
    stability: Stability | None = None
    """The verdicts with other seeds; None if no other seed was tried."""
    is_disturbed: bool = False
    """Whether the verdict is based on runs in real time during which other programs used the
    machine."""

    @property
    def is_counted(self) -> bool:
        """Whether the scorecard counts the verdict. It does not if other programs disturbed the
        runs.
        """
        return not self.is_disturbed or self.result.verdict is ClaimVerdict.NOT_TESTABLE

    @property
    def verdict(self) -> ClaimVerdict:
        """The verdict; `depends` if the verdict under another choice contradicts it."""
        return ClaimVerdict.DEPENDS if self._contradicted else self.result.verdict

    @property
    def word(self) -> str:
        """The word for the verdict, such as `reproduced`."""
        return self.verdict.value if self._contradicted else self.result.word

    @property
    def depends_text(self) -> str | None:
        """A sentence on the choices of the study on which the verdict depends; None if it depends
        on none.
        """
        chosen = [each.sensitivity.chosen for each in self._contradicted]
        return f"on {' and '.join(chosen)}, which we chose" if chosen else None

    @property
    def why(self) -> str | None:
        """The reason that the claim gives for its effect; None unless the control confirms the
        reason, and the verdict is one that it explains.
        """
        why, effect = self.result.claim.why, self.effect
        if effect is None or not effect.is_shown or why is None:
            return None
        if self.result.verdict is ClaimVerdict.UNDECIDED:
            return None
        return why if effect.scope is None else f"{why} (Shown {effect.scope}.)"

    @property
    def control_text(self) -> str | None:
        """What the control changed, and by how much the effect differs, as text; None without a
        control.
        """
        if self.control is None:
            return None
        if self.effect is None:
            return f"{self.control.text}: {NOT_TRIED}"
        verb = "shows it" if self.effect.is_shown else NOT_SHOWN
        return f"{self.control.text}: {self.effect.found}; {verb}"

    @property
    def stability_text(self) -> str:
        """Text with the number of other seeds that give the same verdict."""
        return NOT_TRIED if self.stability is None else self.stability.text

    @property
    def _contradicted(self) -> list[Dependence]:
        return [each for each in self.dependences if each.is_contradicted]

    def to_json(self) -> dict[str, Any]:
        """Return the fields that `--json` prints."""
        control = None
        if self.control is not None and self.effect is not None:
            control = {
                "id": self.control.id,
                "text": self.control.text,
                "under_control": self.result.claim.under_control,
                **self.effect.to_json(),
            }
        tried = None
        if self.stability is not None:
            words = list(self.stability.words)
            tried = {"tried": len(words), "same": self.stability.same, "words": words}
        return self.result.to_json() | {
            "verdict": self.word,
            "verdict_as_chosen": self.result.word,
            "counted": self.is_counted,
            "why": self.why,
            "control": control,
            "sensitivity": [each.to_json() for each in self.dependences],
            "seeds": tried,
        }
