"""The fixes that a person with this text can carry out, in their words and places."""
