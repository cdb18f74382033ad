"""Everything through which fadoctor is asked: command line, programs, assistants."""
