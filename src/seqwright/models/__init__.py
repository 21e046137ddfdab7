"""The lineage: batch → logits. Imports only point back in time."""
