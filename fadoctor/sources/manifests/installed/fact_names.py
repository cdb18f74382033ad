"""Names of facts about what files install: plans read them, and load nothing that finds them."""

from __future__ import annotations

CONTRADICTED = "packages.contradicted"
ISOLATED, ISOLATED_KIND = "packages.isolated_builds", "packages.isolated_in"
ISOLATED_BY_NEW = "packages.isolated_by_new_pip"
UNFIT = "packages.unfit_wheels"
UNSERVED, UNSERVED_INSTEAD = "packages.unserved", "packages.unserved_instead"
