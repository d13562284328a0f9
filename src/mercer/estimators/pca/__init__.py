"""Kernel PCA: principal components in feature space, projections, pre-images and denoising.

===================  ==============================================================================================
`kernel_pca`         the estimator
`components`         what a fit leaves behind: directions as expansions on rows, the mean, eigenvalues
`centering`          the centered Gram matrix: in place, or as a product with a correction of rank two
`decompositions`     eigh, Lanczos, explicit features, landmarks: four ways to the same components
`routes`             what each way costs
`targets`            points of feature space to find pre-images of
`preimages`          the way back: which method, with which error
`fixed_point`        the iteration for kernels with a gradient
`neighbors`          nearest training rows and a local embedding
`learned_map`        ridge regression from coordinates to rows
`edits`              strings, improved letter by letter
`tuning`             length scale, components and pre-image chosen on clean rows
===================  ==============================================================================================
"""
