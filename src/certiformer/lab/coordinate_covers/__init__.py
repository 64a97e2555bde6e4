"""Networks in few coordinates: classes for which every change of a weight is known at the output."""
