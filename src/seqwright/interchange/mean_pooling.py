"""A classifier over the mean of all vectors, which `transformers` lacks: its code is written beside the weights.

The model has a type of its own there, so that a class of `transformers` that reads the first vector does not take its
weights unnoticed: without `trust_remote_code=True` loading is refused.
"""

from pathlib import Path
from typing import Any

from seqwright.interchange.families import Family
from seqwright.whole_file import written_whole

CODE_FILE = "modeling_mean_pooled.py"
TYPE = "mean-pooled-"  # before the type of the body
CODE = '''"""A classifier over the mean of all vectors of a STEM; load it with trust_remote_code=True."""

import torch
from transformers import STEMConfig, STEMModel, STEMPreTrainedModel
from transformers.modeling_outputs import SequenceClassifierOutput


class MeanPooledSTEMConfig(STEMConfig):
    model_type = "TYPE"


class MeanPooledSTEMForSequenceClassification(STEMPreTrainedModel):
    config_class = MeanPooledSTEMConfig

    def __init__(self, config):
        super().__init__(config)
        self.BODY = STEMModel(ARGUMENTS)
        self.dropout = torch.nn.Dropout(config.DROPOUT or 0.0)
        self.classifier = torch.nn.Linear(config.hidden_size, config.num_labels)
        self.post_init()

    def forward(self, input_ids=None, attention_mask=None, labels=None, return_dict=None, **others):
        outputs = self.BODY(input_ids, attention_mask=attention_mask, **others)
        hidden = outputs.last_hidden_state
        real = torch.ones_like(hidden[..., 0]) if attention_mask is None else attention_mask.to(hidden.dtype)
        mean = (hidden * real.unsqueeze(-1)).sum(1) / real.sum(1, keepdim=True)
        logits = self.classifier(self.dropout(mean))
        loss = None
        if labels is not None and self.config.problem_type == "regression":
            loss = torch.nn.functional.mse_loss(logits.squeeze(-1), labels.to(logits.dtype))
        elif labels is not None:
            loss = torch.nn.functional.cross_entropy(logits, labels)
        return SequenceClassifierOutput(
            loss=loss, logits=logits, hidden_states=outputs.hidden_states, attentions=outputs.attentions
        )
'''


def write_code(folder: Path, family: Family) -> dict[str, Any]:
    """Write the module for a family beside the weights; what config.json says of it."""
    stem = family.bare.removesuffix("Model")
    has_pooler = any("body.pooler.weight" in row.ours for row in family.body)
    words = {
        "STEM": stem,
        "TYPE": TYPE + family.model_type,
        "BODY": family.prefix.removesuffix("."),
        "DROPOUT": family.head_dropouts[0],
        "ARGUMENTS": "config, add_pooling_layer=False" if has_pooler else "config",
    }
    code = CODE
    for word, meaning in words.items():
        code = code.replace(word, meaning)
    with written_whole(folder / CODE_FILE) as file:
        file.write(code)
    module = CODE_FILE.removesuffix(".py")
    classes = {
        "AutoConfig": f"MeanPooled{stem}Config",
        "AutoModelForSequenceClassification": f"MeanPooled{stem}ForSequenceClassification",
    }
    return {
        "model_type": TYPE + family.model_type,
        "auto_map": {auto: f"{module}.{name}" for auto, name in classes.items()},
    }
