# Degrees of freedom and standard errors of a difference between two sides of several sessions, each with a spread of its
# own between sessions: restricted maximum likelihood with lme4, Satterthwaite's degrees of freedom with lmerTest, and
# Kenward and Roger's with pbkrtest. Run from this folder: Rscript sessions.R; it writes sessions.csv (values of each run)
# and sessions_fits.csv (one row for each design).
suppressMessages({library(lme4); library(lmerTest); library(pbkrtest)})
set.seed(2010)
values <- list(); fits <- list()
for (design in 1:200) {
  sessions <- sample(3:10, 2, replace = TRUE)
  balanced <- design <= 100
  runs <- if (balanced) rep(sample(2:8, 1), sum(sessions)) else sample(2:8, sum(sessions), replace = TRUE)
  between <- sample(c(0, 0.01, 0.02, 0.05), 1) * c(1, sample(c(1, 2), 1))
  within <- sample(c(0.005, 0.02, 0.05), 1)
  side <- rep(c("a", "b"), sessions)
  data <- do.call(rbind, lapply(seq_along(runs), function(s) {
    u <- rnorm(1, sd = between[if (side[s] == "a") 1 else 2])
    data.frame(design = design, side = side[s], session = s, y = u + rnorm(runs[s], sd = within))
  }))
  data$a <- as.numeric(data$side == "a"); data$b <- as.numeric(data$side == "b")
  fit <- suppressMessages(suppressWarnings(
    lmerTest::lmer(y ~ side + (0 + a | session) + (0 + b | session), data = data,
                   control = lmerControl(check.conv.singular = "ignore"))))
  found <- suppressWarnings(coef(summary(fit, ddf = "Satterthwaite")))["sideb", ]
  kr <- tryCatch(suppressWarnings(coef(summary(fit, ddf = "Kenward-Roger")))["sideb", ],
                 error = function(e) c(NA, NA, NA, NA, NA))
  v <- as.data.frame(VarCorr(fit))$vcov
  fits[[design]] <- data.frame(design = design, balanced = balanced, estimate = found[["Estimate"]],
    se = found[["Std. Error"]], df = found[["df"]], se_kr = kr[[2]], df_kr = kr[[3]],
    between_a = v[1], between_b = v[2], within = v[3], boundary = min(v[1:2]) < 0.01 * v[3])
  values[[design]] <- data[c("design", "side", "session", "y")]
}
write.csv(format(do.call(rbind, values), digits = 12), "sessions.csv", row.names = FALSE, quote = FALSE)
write.csv(format(do.call(rbind, fits), digits = 10), "sessions_fits.csv", row.names = FALSE, quote = FALSE)
