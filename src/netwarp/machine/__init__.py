"""What this machine has, and what its CPU carries."""
