"""One file per device API, the measuring loop, its statistics and the instruments."""
