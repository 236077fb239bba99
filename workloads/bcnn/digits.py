"""Handwritten digits of scikit-learn: 1,797 images of 8 x 8 pixels and 17 levels, as signed integers.

They are the test part of Alpaydin and Kaynak's optical digits (UCI repository); a level counts the inked pixels of a
4 x 4 block. The same people wrote the digits of all parts here, so an accuracy is that on known hands. Needs
scikit-learn (`gatewarp[data]`), which carries the images: nothing is downloaded.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from workloads.bcnn.images import Images, ImagesError, Parts

#: Seed of the split. With another one every trained file and every accuracy would be void.
SPLIT_SEED = 1797
#: Images of the test set, a quarter of all, and of the validation set out of the rest.
TEST, VALIDATION = 450, 200
#: Level 0 to 16 becomes -8 to 8, which five bits hold.
MIDDLE = 8


@cache
def load() -> Parts:
    """Load the digits and split them by class. Errors: ImagesError naming the pip command."""
    try:
        from sklearn.datasets import load_digits
        from sklearn.model_selection import train_test_split
    except ModuleNotFoundError as error:
        raise ImagesError(f"the digits come with scikit-learn ({error}): pip install 'gatewarp[data]'") from None
    data = load_digits()
    pixels = (data.images - MIDDLE).astype(np.int8)[..., np.newaxis]
    labels = data.target.astype(np.int64)
    rest, test = train_test_split(np.arange(len(labels)), test_size=TEST, stratify=labels, random_state=SPLIT_SEED)
    train, validation = train_test_split(rest, test_size=VALIDATION, stratify=labels[rest], random_state=SPLIT_SEED)
    return Parts(*(Images(pixels[part], labels[part]) for part in (train, validation, test)))
