"""The command ``facts``: everything that was read, as JSON.

Heavy modules are imported inside the command, so that each pays only for what it uses.
"""

from __future__ import annotations

from fadoctor.cli import options as opt
from fadoctor.cli import support
from fadoctor.cli.output import write


def facts(
    target: opt.Target = "",
    python: opt.Python = "",
    site_packages: opt.SitePackages = "",
    facts: opt.Facts = "",
    requirements: opt.Requirements = [],  # noqa: B006
    extra: opt.Extra = [],  # noqa: B006
    group: opt.Group = [],  # noqa: B006
    config: opt.Config = [],  # noqa: B006
    config_kind: opt.ConfigKind = "",
    gpu: opt.Gpu = [],  # noqa: B006
    driver: opt.Driver = "",
    glibc: opt.Glibc = "",
    python_version: opt.PythonVersion = "",
    platform: opt.Platform = "",
    rules: opt.Rules = [],  # noqa: B006
    no_config_file: opt.NoConfigFile = False,
    thorough: opt.ReadAll = False,
    no_cache: opt.NoCache = False,
    output_format: opt.FactsOutput = opt.FactsFormat.JSON,  # noqa: ARG001 -- the one that there is
    output: opt.Output = None,
    redact: opt.Redact = False,
    debug: opt.Debug = False,
) -> None:
    """Print everything that was read, as JSON: what a bug report should contain."""
    from fadoctor.cli.terminal import log_to_stderr
    from fadoctor.report.json_ import render

    log_to_stderr(debug=debug)
    request = support.request_of(target, python, site_packages, facts, gpu, driver, glibc,
                       python_version, platform, thorough=thorough, requirements=requirements,
                       extra=extra, group=group, config=config, config_kind=config_kind,
                       contracts=True, cache=not no_cache)  # fmt: skip
    settings = support.settings_of(no_config_file=no_config_file)
    rules, request = [*settings.rules, *rules], settings.applied(request, assumes=False)
    _, environment = support.environment_of(request, rules)
    write(render(support.redacted(environment) if redact else environment), output)
