# Seconds of kernlab's kcca and kkmeans: Rscript benchmarks/kernlab.R FOLDER
# FOLDER holds x.csv, y.csv and digits.csv without headers, and numbers.csv: the width (1 / (2 l^2)) for x and y, that for
# digits, and gamma. Prints the least seconds of kcca, its first correlation, those of kkmeans and the name of the linear
# algebra library, and writes labels.csv. With the reference library, which Debian's R has by default, kcca takes 8 times
# longer than with OpenBLAS (package libopenblas0-pthread); the race is against OpenBLAS.
suppressMessages(library(kernlab))
folder <- commandArgs(trailingOnly = TRUE)[1]
read <- function(name) as.matrix(read.csv(file.path(folder, name), header = FALSE))
numbers <- read("numbers.csv")[1, ]
x <- read("x.csv"); y <- read("y.csv"); digits <- read("digits.csv")
seconds <- function(call) min(replicate(3, system.time(call())[["elapsed"]]))  # the best of three, as for mercer
correlate <- function() kcca(x, y, kernel = "rbfdot", kpar = list(sigma = numbers[[1]]), gamma = numbers[[3]], ncomps = 2)
cluster <- function() { set.seed(0); kkmeans(digits, centers = 10, kernel = "rbfdot", kpar = list(sigma = numbers[[2]])) }
first <- seconds(correlate); found <- correlate()
second <- seconds(cluster); parts <- cluster()
write.table(parts@.Data, file.path(folder, "labels.csv"), row.names = FALSE, col.names = FALSE)
cat(first, found@kcor[1], second, basename(La_library()), "\n")
