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
`loo_quantile`         one order statistic of them, exact, from a float32 factor
`class_means`          sums of kernel values per class
`ball`                 distances to the mean, leave-one-out and conformal
`perceptron`           blocked, primal and online forms (`perceptron_forms`), budgets (`perceptron_budget`)
`min_norm`             the hard margin, or the certificate that there is none
`pivoted`              rows that stand for all: pivoted Cholesky, greedy or random
`inducing`             Gaussian processes through inducing rows: the collapsed bound and its gradient
`neighbors`, `vecchia` blocks of near rows, and Gaussian processes as products of their conditionals
`voting`               the voted perceptron: every weight vector votes as long as it lasted
`marginal_likelihood`  of a Gaussian process, with its gradient, in the memory of one Gram
`gp_mean`              the mean function by generalized least squares
`gp_conditioning`      variances and leave-one-out predictions from the factor
`gp_updates`           rows added to and taken out of a factor
`ascent`               BFGS in a box, for functions of few parameters that are dear to evaluate
=====================  ============================================================================================
"""
