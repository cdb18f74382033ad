"""From what is asked to facts: discover, probe, replay, assume."""
