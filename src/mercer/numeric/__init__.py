"""Arrays in, arrays out: memory, threads, tiles, distances and the compiled loops. Nothing here depends on kernels."""
