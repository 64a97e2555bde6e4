"""The audit: every claim, printed and sound alike, is attacked; what breaks is shown with its counterexample."""
