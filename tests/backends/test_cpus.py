"""Each guest gets a CPU of its own while there are enough."""

from __future__ import annotations

from pathlib import Path

from netwarp.backends.cpus import free_cpu


def test_two_guests_are_on_two_cpus(tmp_path: Path) -> None:
    with free_cpu([4, 7], 0, tmp_path) as first, free_cpu([4, 7], 0, tmp_path) as second:
        assert (first, second) == (4, 7)


def test_the_slot_says_which_is_tried_first(tmp_path: Path) -> None:
    with free_cpu([4, 7], 3, tmp_path) as cpu:
        assert cpu == 7


def test_with_all_taken_the_first_choice_is_shared(tmp_path: Path) -> None:
    with (
        free_cpu([4, 7], 0, tmp_path),
        free_cpu([4, 7], 0, tmp_path),
        free_cpu([4, 7], 1, tmp_path) as third,
    ):
        assert third == 7


def test_a_cpu_is_free_again_when_its_guest_has_ended(tmp_path: Path) -> None:
    for _ in range(2):
        with free_cpu([4, 7], 0, tmp_path) as cpu:
            assert cpu == 4


def test_a_link_in_the_place_of_a_lock_is_not_followed(tmp_path: Path) -> None:
    with free_cpu([4], 0, tmp_path):
        pass
    (lock,) = tmp_path.iterdir()
    lock.unlink()
    target = tmp_path / "target"
    lock.symlink_to(target)
    with free_cpu([4], 0, tmp_path) as cpu:
        assert cpu == 4
    assert not target.exists()
