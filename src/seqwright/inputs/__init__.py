"""User data ↔ tensors. What is made here travels with the model in the run folder."""
