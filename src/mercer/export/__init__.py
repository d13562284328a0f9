"""Fitted models outside Python: ONNX graphs and JavaScript, written from the formula of the kernel."""

from mercer.export.javascript import to_javascript as to_javascript
from mercer.export.onnx_graph import to_onnx as to_onnx
