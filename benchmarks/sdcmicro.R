# Measure MDAV of the R package sdcMicro on CSV files of numbers, and print a Markdown table.
#
#   Rscript benchmarks/sdcmicro.R K FILE...
#
# benchmarks/sdcmicro.py writes the files, calls this script once for each, and measures polars_microagg on
# the same files. Install sdcMicro from CRAN: install.packages("sdcMicro").

suppressPackageStartupMessages(library(sdcMicro))

arguments <- commandArgs(trailingOnly = TRUE)
if (length(arguments) < 2) stop("Usage: Rscript sdcmicro.R K FILE...")
k <- as.integer(arguments[1])

# Memory of this process in MB, or NA on a system without /proc.
memory <- function(name) {
  lines <- tryCatch(suppressWarnings(readLines("/proc/self/status")), error = function(e) character())
  line <- grep(paste0("^", name, ":"), lines, value = TRUE)
  if (length(line)) as.numeric(gsub("[^0-9]", "", line)) / 1024 else NA
}

# Linux then counts the peak (VmHWM) from the present memory on.
reset_peak <- function() {
  gc()
  try(suppressWarnings(cat("5", file = "/proc/self/clear_refs")), silent = TRUE)
}

measure <- function(file) {
  original <- read.csv(file)
  microaggregation(head(original, 100), method = "mdav", aggr = k) # loads what a first call loads
  reset_peak()
  before <- memory("VmRSS")
  seconds <- c()
  while (length(seconds) < 3 && sum(seconds) < 10) {
    time <- system.time(
      released <- microaggregation(original, method = "mdav", aggr = k)$mx,
      gcFirst = FALSE
    )
    seconds <- c(seconds, time[["user.self"]] + time[["sys.self"]])
    if (length(seconds) == 1) more <- memory("VmHWM") - before
  }
  x <- as.matrix(original)
  y <- as.matrix(released)
  # Sums of squares of each column: those inside the groups, divided by those of the column.
  lost <- colSums((x - y)^2) / colSums(sweep(x, 2, colMeans(x))^2)
  # Hexadecimal digits tell numbers apart that differ in the last bit only.
  classes <- do.call(paste, lapply(seq_len(ncol(y)), function(j) sprintf("%a", y[, j])))
  sprintf(
    "| %s | %d | %d | %d | sdcMicro | %.4f | %s | %.4f | %d |",
    sub("\\.csv$", "", basename(file)), nrow(x), ncol(x), k, min(seconds),
    if (is.na(more)) "" else sprintf("%.0f", more), 100 * mean(lost), min(table(classes))
  )
}

cat(sprintf("sdcMicro %s, %s.\n\n", packageVersion("sdcMicro"), R.version.string))
cat("| table | records | columns | k | program | CPU s | MB | loss | smallest class |\n")
cat("| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n")
for (file in arguments[-1]) cat(measure(file), "\n", sep = "")
