"""`track` in RTL: the network folded onto few multipliers, for parts in which the unrolled one does not fit."""
