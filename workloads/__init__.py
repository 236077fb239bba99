"""WHAT is computed: one folder per workload, with its oracle, inputs, quality measure and parameters."""
