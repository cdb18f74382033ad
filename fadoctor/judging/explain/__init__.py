"""From a log to its root cause: reading, cleaning, messages, matching, ranking, findings."""
