"""Word vectors as text, in the format of the program word2vec, which gensim and others read.

The first line has how many vectors there are and how wide they are; then each line a word and its numbers, a space
between them.

V vocabulary · D width
"""

from collections.abc import Sequence
from pathlib import Path

from torch import Tensor

from seqwright.whole_file import written_whole

AT_ONCE = 1000  # lines


def write_word2vec(path: Path, words: Sequence[str], vector_VD: Tensor) -> None:
    """Write a vector for each word; the words are all different and hold no white space.

    Nine digits give every float32 back to the bit. A path that ends in .gz is compressed.
    """
    count, width = vector_VD.shape
    assert len(words) == count, f"{len(words)} words have {count} vectors"
    line = "%s" + width * " %.9g" + "\n"
    with written_whole(path) as file:
        file.write(f"{count} {width}\n")
        for low in range(0, count, AT_ONCE):
            rows = zip(words[low : low + AT_ONCE], vector_VD[low : low + AT_ONCE].tolist(), strict=True)
            file.writelines(line % (word, *numbers) for word, numbers in rows)
