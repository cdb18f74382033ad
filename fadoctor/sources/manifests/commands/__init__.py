"""Commands that install, in scripts, notebooks, workflows and images."""
