"""What netwarp costs: `make bench`. Ratios within one execution, because machines are noisy."""
