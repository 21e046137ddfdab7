"""A figure that shows itself in a notebook, whether or not pyplot was ever imported there."""

from matplotlib.figure import Figure

from seqwright.pictures import png_of


class Drawing(Figure):
    """An ordinary figure of matplotlib; a notebook shows it half as large as its dots, so that lines stay sharp."""

    def _repr_png_(self) -> tuple[bytes, dict[str, int]]:
        width, height = (round(inches * self.dpi / 2) for inches in self.get_size_inches().tolist())
        return png_of(self), {"width": width, "height": height}
