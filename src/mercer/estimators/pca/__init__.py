"""Kernel PCA: principal components in feature space, projections, pre-images and denoising.

===================  ==============================================================================================
`kernel_pca`         the estimator
`decompositions`     the centered Gram matrix and its components, by eigh, Lanczos, explicit features or landmarks
`routes`             memory and time of each decomposition
`preimages`          objects whose images are near points of feature space, by four methods
`denoising`          noise level of rows; length scale, components and pre-image method chosen on clean rows
===================  ==============================================================================================
"""
