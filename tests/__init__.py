"""The tests.

OpenBLAS has one thread: two processes of tests share the cores, and its threads spin while they
have nothing to do, which multiplies the processor time of small matrices.
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before numpy is imported
