"""Loss → run folder. Training receives the model, the objective and the batches as arguments and knows no model."""
