"""What proofs are made of, free of any paper: covers, layers, allocation, chaining, concentration."""
