"""What a text fails of, layer by layer: wordings, frames, facts, tellings, the nearest pages."""
