"""Steps that turn what high-level synthesis emits into RTL for our flow."""
