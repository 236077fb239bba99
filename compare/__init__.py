"""Records, their evidence, and what may be compared; this package imports none of the others."""
