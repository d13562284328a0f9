"""What every family needs from linear algebra: arrays in, or things with ``shape``, ``@``, ``diag()``; a frozen result out.

=====================  ============================================================================================
`solution`             what solvers take and return: arrays checked, rows of weight zero taken out, results
`cholesky`             K + alpha I = L L' in the Gram's own memory, jitter, and matrices stored in a triangle
`pivoted_cholesky`     rows that stand for all: pivoted Cholesky, greedy or random
`conjugate_gradient`   when the matrix is only an operator
`lanczos`              the largest eigenvalues of an operator: block Lanczos with thick restarts
`bfgs`                 ascent in a box for functions of few parameters that are costly to evaluate
=====================  ============================================================================================
"""
