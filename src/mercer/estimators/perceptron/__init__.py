"""The kernel perceptron."""
