"""Molecular dynamics on one chip: a whole time-step loop in RTL, its parameters, benches and builds."""
