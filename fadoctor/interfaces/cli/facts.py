"""The command ``facts``: everything that was read, as JSON.

Heavy modules are imported inside the command, so that each pays only for what it uses.
"""

from __future__ import annotations

from typing import Annotated

import typer

from fadoctor.interfaces.cli import support
from fadoctor.interfaces.cli.options import formats, judging, looking, showing
from fadoctor.interfaces.cli.output import write


def facts(
    target: looking.Target = "",
    python: looking.Python = "",
    site_packages: looking.SitePackages = "",
    facts: looking.Facts = "",
    requirements: looking.Requirements = [],  # noqa: B006
    extra: looking.Extra = [],  # noqa: B006
    group: looking.Group = [],  # noqa: B006
    resolve: looking.Resolve = False,
    config: looking.Config = [],  # noqa: B006
    config_kind: looking.ConfigKind = "",
    gpu: looking.Gpu = [],  # noqa: B006
    driver: looking.Driver = "",
    glibc: looking.Glibc = "",
    python_version: looking.PythonVersion = "",
    platform: looking.Platform = "",
    rules: judging.Rules = [],  # noqa: B006
    no_config_file: judging.NoConfigFile = False,
    thorough: looking.ReadAll = False,
    no_cache: looking.NoCache = False,
    output_format: formats.FactsOutput = formats.FactsFormat.JSON,  # noqa: ARG001 -- the one that there is
    markdown: Annotated[
        bool,
        typer.Option(
            "--markdown",
            help="Print Markdown for a bug report: folded, redacted, ready to paste.",
            rich_help_panel="Output",
        ),
    ] = False,
    output: showing.Output = None,
    redact: showing.Redact = False,
    debug: showing.Debug = False,
) -> None:
    """Print everything that fadoctor reads, as JSON for a bug report."""
    from fadoctor.interfaces.cli.person import Person
    from fadoctor.interfaces.cli.terminal import log_to_stderr
    from fadoctor.interfaces.commands.facts import facts as read
    from fadoctor.report.json_ import render

    log_to_stderr(debug=debug)
    request = support.request_of(target, python, site_packages, facts, gpu, driver, glibc,
                       python_version, platform, thorough=thorough, requirements=requirements,
                       extra=extra, group=group, config=config, config_kind=config_kind,
                       contracts=True, cache=not no_cache, resolve=resolve)  # fmt: skip
    settings = support.settings_of(no_config_file=no_config_file)
    request = settings.applied(request, assumes=False)
    environment = read(request, (*settings.rules, *rules), Person(quiet=True))
    environment = support.without_credentials(environment)
    if markdown:
        from fadoctor.report.facts_markdown import render as as_markdown

        write(as_markdown(support.redacted(environment)), output, "markdown")
        return
    write(render(support.redacted(environment) if redact else environment), output, "json")
