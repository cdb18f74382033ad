"""What assistants may ask over the Model Context Protocol: check, explain, and a plan.

Nothing is changed, and nothing of an environment is run: one that an assistant names may have come
with a cloned repository. `answers` needs no SDK; `server` does (the extra ``mcp``).
"""
