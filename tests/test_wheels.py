"""The names of wheels, and what a wheel says of its kernel."""

from __future__ import annotations

import pytest

from wheels import newest_glibc, platform_tag, source_text


@pytest.mark.parametrize(
    ("symbols", "tag"),
    [
        (["GLIBC_2.2.5", "GLIBC_2.34", "GLIBC_2.4"], "manylinux_2_34_x86_64"),
        (["GLIBC_2.2.5", "GLIBC_2.28"], "manylinux_2_28_x86_64"),
        (["GLIBC_2.2.5"], "manylinux_2_17_x86_64"),
        ([], "manylinux_2_17_x86_64"),
    ],
)
def test_a_wheel_is_named_by_the_newest_symbol(symbols: list[str], tag: str) -> None:
    assert platform_tag(newest_glibc(symbols)) == tag


def test_a_kernel_is_distributed_with_its_source_s_name_version_and_hash() -> None:
    info = {"version": "7.3.4", "release": "7.3.4-netwarp", "key": "7.3.4-0123",
            "source_package": "linux-source-7.3", "source_version": "7.3.4-1~bpo13+1",
            "source_sha256": "76df", "kernel_sha256": "80e1", "gcc": "gcc 12.2.0",
            "c_library": "glibc 2.36-9"}  # fmt: skip
    text = source_text(info)
    for value in info.values():
        assert value in text
    assert "patches          none" in text
    assert "patches          a.patch 12, b.patch 34" in source_text(
        info | {"patches": ["a.patch 12", "b.patch 34"]}
    )
