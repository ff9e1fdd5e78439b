"""AdaGrad: the step sizes of linear models that are trained one example at a time."""

from typing import NamedTuple


class AdaGrad(NamedTuple):
    """Settings of a step: w -= rate * g / sqrt(G + ease).

    g is the gradient plus decay * w, and G the sum of its squares so far.
    """

    rate: float
    decay: float
    ease: float
