"""Broken states that the knowledge base can enumerate, and the plans that repair them."""
