"""Checkpoints of other programs: the folders of Hugging Face's `transformers`, read and written."""
