"""Names for the types of arrays that signatures use; shapes stand in comments beside them."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Indices = NDArray[np.intp]
Codes = NDArray[np.int32]
