"""mercer: kernel methods. Write down a kernel once, and every kernel algorithm runs on it."""
from mercer.kernels.text import *
from mercer.kernels.text import KERNELS, parse
from mercer.kernels.text import Bilinear, Constant, Exponential, Function, Gaussian, Laplacian, Linear, Matern, Periodic, Polynomial, Precomputed, RationalQuadratic, Spectrum, Tanh, VertexHistogram
from mercer.inputs import Graph
from mercer.kernels.names import register
from mercer.gram import GramOperator, gram
from mercer import geometry
