"""GPU x backend x dtype: predicted, measured, recommended, and which cause is the root."""
