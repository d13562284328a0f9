"""One algorithm per file: arrays in (or things with ``shape``, ``@``, ``diag()``), a frozen result out.

A solver knows nothing of kernels, labels or data frames. Ridge regression is the pattern the others copy:

=====================  ============================================================================================
`cholesky`             K + alpha I = L L' in the Gram's own memory, and the one owner of jitter
`dual`                 the dual fit from that factor: coefficients, intercept, leverage, influence
`eigen`, `eigen_fit`   one eigendecomposition, every alpha
`tridiagonal`          leave-one-out at every alpha from a tridiagonal form
`crossval`             held-out residuals in closed form from a factor or from a decomposition
`primal`               normal equations in the features, accumulated over blocks of rows
`least_squares`        alpha = 0: the minimum-norm solution, with its rank
`conjugate_gradient`   when the Gram is only an operator
`robust`               Huber's loss by reweighting any weighted fit
`conformal`            intervals from leave-one-out residuals
`class_means`          sums of kernel values per class
`ball`                 distances to the mean, leave-one-out and conformal
`perceptron`           blocked, primal and online forms (`perceptron_forms`), budgets (`perceptron_budget`)
`min_norm`             the hard margin, or the certificate that there is none
`voting`               the voted perceptron: every weight vector votes as long as it lasted
=====================  ============================================================================================
"""
