"""Where a model came from that was not trained here."""

from seqwright.setting_classes import Settings


class ImportedSettings(Settings):
    """A file that `seqwright import` made a run of; it holds a model and no examples."""

    imported: str
    """Its name, or that of its folder."""
    sha256: str
    """The sha256 of its content."""

    def absence(self) -> str:
        """Why there are no examples, and what to do."""
        return (
            f"the model came from {self.imported}, which has no examples in it; give some with --data, or train a "
            "recipe of your own, a neural one with model.weights set to this run"
        )
