"""(model, batch) → loss. Objectives never import models: they call what they are given."""
