"""What-if overlays: what the user assumes instead of what is there."""

from __future__ import annotations

import msgspec


class Overlays(msgspec.Struct, frozen=True):
    """The overlay options as typed; empty means not given."""

    gpu: tuple[str, ...] = ()
    driver: str = ""
    glibc: str = ""
    python_version: str = ""
    platform: str = ""

    def described(self) -> tuple[str, ...]:
        """Return the overlays as the user typed them."""
        single = {
            "--driver": self.driver,
            "--glibc": self.glibc,
            "--python-version": self.python_version,
            "--platform": self.platform,
        }
        given = [f"{option} {value}" for option, value in single.items() if value]
        return (*(f"--gpu {name}" for name in self.gpu), *given)
