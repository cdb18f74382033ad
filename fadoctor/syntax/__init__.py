"""Text from outside as readers of several rooms take it: named files, YAML; sizes bounded."""
