"""Feature maps that stand for a kernel: random Fourier features and landmarks."""
