"""Record linkage, floors of the loss, and moments of two tables."""
