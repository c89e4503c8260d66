"""A row of a scorecard: a conclusion, its verdict, and how far both can be relied on."""

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
    ClaimVerdict.PARTLY: "for",
    ClaimVerdict.SIZE_UNDECIDED: "for",
    ClaimVerdict.PARTLY_REVERSED: "against",
    ClaimVerdict.REVERSED: "against",
    ClaimVerdict.EQUIVALENT: "neither",
    ClaimVerdict.DEPENDS: "both",
}
"""What a verdict says of its claim. Two verdicts of different sides contradict each other; those
that are not here decide nothing."""


@dataclass(frozen=True)
class Dependence:
    """What becomes of a verdict where something is different that the study chose."""

    sensitivity: Sensitivity
    verdict: ClaimResult
    """The verdict as the study chose."""
    others: tuple[tuple[str, ClaimResult], ...]
    """The verdict under each other choice, with its name; empty if it was not tried."""

    @property
    def is_contradicted(self) -> bool:
        """Whether the verdict under some other choice contradicts the one here."""
        side = SIDES.get(self.verdict.verdict)
        sides = {SIDES.get(result.verdict) for _, result in self.others} - {None}
        return side is not None and bool(sides - {side})

    @property
    def text(self) -> str:
        """The verdict under each choice, in words."""
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


@dataclass(frozen=True)
class Stability:
    """The words that a conclusion gets with other seeds, all else equal."""

    word: str
    """The word here, as the study chose."""
    words: tuple[str, ...]
    """The word with each other seed."""

    @property
    def same(self) -> int:
        """Number of other seeds that give the word here."""
        return self.words.count(self.word)

    @property
    def text(self) -> str:
        """Such as `2 of 3 seeds; else undecided`."""
        others = dict.fromkeys(word for word in self.words if word != self.word)
        rest = f"; else {', '.join(others)}" if others else ""
        return f"{self.same} of {len(self.words)} seeds{rest}"


@dataclass(frozen=True)
class ScoreRow:
    """A conclusion with its verdict, its control, and what the verdict depends on."""

    result: ClaimResult
    """The verdict as the study chose, whatever other choices would give."""
    control: Control | None = None
    effect: Effect | None = None
    """How the control altered the effect; None where none was run."""
    dependences: tuple[Dependence, ...] = ()
    stability: Stability | None = None
    """None where no other seed was tried."""

    @property
    def verdict(self) -> ClaimVerdict:
        """The verdict; `depends` where another choice contradicts it."""
        return ClaimVerdict.DEPENDS if self._contradicted else self.result.verdict

    @property
    def word(self) -> str:
        """The word for the verdict."""
        return self.verdict.value if self._contradicted else self.result.word

    @property
    def depends_text(self) -> str | None:
        """What the verdict depends on that the study chose, or None."""
        chosen = [each.sensitivity.chosen for each in self._contradicted]
        return f"on {' and '.join(chosen)}, which we chose" if chosen else None

    @property
    def why(self) -> str | None:
        """The reason, if the control shows it and there is something that it explains."""
        is_shown = self.effect is not None and self.effect.is_shown
        explains = self.result.verdict is not ClaimVerdict.UNDECIDED
        return self.result.claim.why if is_shown and explains else None

    @property
    def control_text(self) -> str | None:
        """What the control altered, in words; None without a control."""
        if self.control is None:
            return None
        if self.effect is None:
            return f"{self.control.text}: {NOT_TRIED}"
        verb = "shows it" if self.effect.is_shown else NOT_SHOWN
        return f"{self.control.text}: {self.effect.found}; {verb}"

    @property
    def stability_text(self) -> str:
        """With how many other seeds the word is the same."""
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
            "why": self.why,
            "control": control,
            "sensitivity": [each.to_json() for each in self.dependences],
            "seeds": tried,
        }
