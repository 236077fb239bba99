"""`bcnn` as a streaming dataflow: one unit per layer, all weights on chip, folded to a rate or to a part."""
