"""The only place that imports numba. Imported inside functions only, so that `import mercer` compiles nothing."""
