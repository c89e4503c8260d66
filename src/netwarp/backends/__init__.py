"""Where runs happen: one interface, one module for each place."""
