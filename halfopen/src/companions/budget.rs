//! How many retries are healthy for the callee.
//!
//! `n` retries of every failure are `1 + n` times the work for a callee that
//! is down already, and keep it down. A budget lets through the retries of a
//! few failures and not those of an outage. Four are known well, and each is
//! one policy here:
//!
//! * [`Aws`](BudgetSettings::Aws), a bucket of 500 tokens: a retry costs 5,
//!   one after a timeout 10; a success after a retry gives that retry's cost
//!   back, a success without one gives 1. (AWS SDKs, standard mode.) With cost
//!   10 and refund 1 it is Brooker's bucket: about 1.1 times the work.
//! * [`Grpc`](BudgetSettings::Grpc): a failure costs a token, a success gives
//!   a tenth; retries only while more than half of the tokens are there.
//!   (gRPC proposal A6.)
//! * [`Finagle`](BudgetSettings::Finagle): 20 % of the requests of the last
//!   10 s, and 10 a second besides. (Finagle, `RetryBudget`.)
//! * [`Envoy`](BudgetSettings::Envoy): at any time at most 20 % of the
//!   outstanding requests are retries, or 3. (Envoy, `circuit_breaker.proto`.)
//!
//! Owns the balance. Invariant: it stays in its range, and what an attempt
//! took is given back at most once, because the [`Attempt`] is consumed. Cost:
//! O(1), for Finagle's ten slices of the window. Everything is an integer:
//! gRPC's ratio is in thousandths of a token, Finagle's deposit is 1000 and
//! its withdrawal `1000 / share`. Pinned by `tests/companions/`.

use core::fmt;

use super::slices::Slices;
use super::{Failure, Latest, check};
use crate::config::{ConfigError, Rate};
use crate::machine::{Outcome, PPM};

/// A token in thousandths; Finagle's deposit.
const TOKEN: u32 = 1_000;
const S: u64 = 1_000_000_000;
/// Finagle's slices of the time to live.
const SLICES: u64 = 10;

/// A budget as a person writes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BudgetSettings {
    /// The token bucket of the AWS SDKs. Full at the start.
    Aws {
        /// The most tokens, 1 to a billion.
        capacity: u32,
        /// What a retry takes, 1 to `capacity`.
        retry_cost: u32,
        /// What a retry after a timeout takes, 1 to `capacity`.
        timeout_cost: u32,
        /// What a success without a retry gives, up to `capacity`.
        refund: u32,
    },
    /// The throttling of gRPC A6. Full at the start.
    Grpc {
        /// The most tokens, 1 to 1000.
        max_tokens: u32,
        /// What a success gives, in thousandths of a token, 1 to a million.
        token_ratio: u32,
    },
    /// The share of Finagle.
    Finagle {
        /// How long a request counts, in nanoseconds, 1 s to 60 s.
        ttl: u64,
        /// Retries a second that are allowed whatever the requests, up to a
        /// million.
        min_retries_per_sec: u32,
        /// Retries as a share of the requests, up to 1000 %.
        percent_can_retry: Rate,
    },
    /// The share of Envoy.
    Envoy {
        /// Outstanding retries as a share of the outstanding requests.
        budget_percent: Rate,
        /// Outstanding retries that are allowed whatever the requests, up to a
        /// billion.
        min_retry_concurrency: u32,
    },
}

impl BudgetSettings {
    /// 500 tokens, 5 a retry, 10 after a timeout, 1 back.
    pub const AWS: BudgetSettings = BudgetSettings::Aws {
        capacity: 500,
        retry_cost: 5,
        timeout_cost: 10,
        refund: 1,
    };
    /// The example of A6: 10 tokens, a tenth back.
    pub const GRPC: BudgetSettings = BudgetSettings::Grpc {
        max_tokens: 10,
        token_ratio: 100,
    };
    /// 20 % over 10 s, and 10 a second.
    pub const FINAGLE: BudgetSettings = BudgetSettings::Finagle {
        ttl: 10 * S,
        min_retries_per_sec: 10,
        percent_can_retry: Rate::percent(20),
    };
    /// 20 % of what is outstanding, or 3.
    pub const ENVOY: BudgetSettings = BudgetSettings::Envoy {
        budget_percent: Rate::percent(20),
        min_retry_concurrency: 3,
    };
}

/// The answer to a retry that is one too many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BudgetExhausted;

impl fmt::Display for BudgetExhausted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the retry budget is empty")
    }
}

impl core::error::Error for BudgetExhausted {}

/// One attempt, first or retry, that the budget knows of.
/// [`RetryBudget::settle`] or [`RetryBudget::cancel`] takes it back; dropped,
/// it stays outstanding for Envoy's share.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "settle or cancel the attempt, or it stays outstanding"]
pub struct Attempt {
    retry: bool,
    /// What it took.
    cost: u32,
    /// When it was taken.
    at: i64,
}

impl Attempt {
    /// Whether it is a retry.
    pub fn is_retry(&self) -> bool {
        self.retry
    }
}

/// A retry budget, for all calls to one callee.
///
/// ```
/// use halfopen::companions::{BudgetSettings, Failure, RetryBudget};
/// use halfopen::Outcome;
///
/// // 500 tokens pay for 50 retries after timeouts, and no more.
/// let mut budget = RetryBudget::new(BudgetSettings::AWS)?;
/// let mut retries = 0;
/// while let Ok(attempt) = budget.retry(0, Failure::Timeout) {
///     budget.settle(0, attempt, Outcome::Failure);
///     retries += 1;
/// }
/// assert_eq!(retries, 50);
/// # Ok::<(), halfopen::ConfigError>(())
/// ```
#[derive(Clone, Debug)]
pub struct RetryBudget {
    now: Latest,
    policy: Policy,
    denied: u64,
}

#[derive(Clone, Debug)]
enum Policy {
    Aws {
        tokens: u32,
        capacity: u32,
        retry_cost: u32,
        timeout_cost: u32,
        refund: u32,
    },
    /// In thousandths of a token.
    Grpc { tokens: u32, max: u32, ratio: u32 },
    Finagle {
        balance: Slices<1>,
        reserve: i64,
        deposit: u32,
        withdrawal: u32,
    },
    Envoy {
        active: u64,
        retries: u64,
        share: Rate,
        min: u32,
    },
}

impl RetryBudget {
    /// Checks settings.
    ///
    /// # Errors
    ///
    /// The first setting that is out of its range, or a budget that could
    /// never allow a retry.
    pub fn new(settings: BudgetSettings) -> Result<RetryBudget, ConfigError> {
        let policy = match settings {
            BudgetSettings::Aws {
                capacity,
                retry_cost,
                timeout_cost,
                refund,
            } => {
                check::count("capacity", capacity, 1, check::MAX_COUNT)?;
                check::count("retry_cost", retry_cost, 1, capacity)?;
                check::count("timeout_cost", timeout_cost, 1, capacity)?;
                check::count("refund", refund, 0, capacity)?;
                Policy::Aws {
                    tokens: capacity,
                    capacity,
                    retry_cost,
                    timeout_cost,
                    refund,
                }
            }
            BudgetSettings::Grpc {
                max_tokens,
                token_ratio,
            } => {
                check::count("max_tokens", max_tokens, 1, 1_000)?;
                check::count("token_ratio", token_ratio, 1, 1_000_000)?;
                let max = max_tokens * TOKEN;
                Policy::Grpc {
                    tokens: max,
                    max,
                    ratio: token_ratio,
                }
            }
            BudgetSettings::Finagle {
                ttl,
                min_retries_per_sec,
                percent_can_retry,
            } => finagle(ttl, min_retries_per_sec, percent_can_retry)?,
            BudgetSettings::Envoy {
                budget_percent,
                min_retry_concurrency,
            } => {
                check::share("budget_percent", budget_percent)?;
                let max = check::MAX_COUNT;
                check::count("min_retry_concurrency", min_retry_concurrency, 0, max)?;
                Policy::Envoy {
                    active: 0,
                    retries: 0,
                    share: budget_percent,
                    min: min_retry_concurrency,
                }
            }
        };
        Ok(RetryBudget {
            now: Latest::NONE,
            policy,
            denied: 0,
        })
    }

    /// A call's first attempt begins. Never refused.
    pub fn begin(&mut self, now: i64) -> Attempt {
        let now = self.now.see(now);
        match &mut self.policy {
            Policy::Aws { .. } | Policy::Grpc { .. } => {}
            Policy::Finagle {
                balance, deposit, ..
            } => balance.add(now, 0, i64::from(*deposit)),
            Policy::Envoy { active, .. } => *active = active.saturating_add(1),
        }
        Attempt {
            retry: false,
            cost: 0,
            at: now,
        }
    }

    /// Asks to retry after `failure`.
    ///
    /// # Errors
    ///
    /// The budget is empty.
    pub fn retry(&mut self, now: i64, failure: Failure) -> Result<Attempt, BudgetExhausted> {
        let cost = self.price(failure);
        if !self.allows(now, failure) {
            self.denied = self.denied.saturating_add(1);
            return Err(BudgetExhausted);
        }
        let now = self.now.0;
        match &mut self.policy {
            Policy::Aws { tokens, .. } => *tokens -= cost,
            Policy::Grpc { .. } => {}
            Policy::Finagle { balance, .. } => balance.add(now, 0, -i64::from(cost)),
            Policy::Envoy {
                active, retries, ..
            } => {
                *active = active.saturating_add(1);
                *retries = retries.saturating_add(1);
            }
        }
        Ok(Attempt {
            retry: true,
            cost,
            at: now,
        })
    }

    /// Whether a retry after `failure` would be allowed now. Takes nothing.
    pub fn allows(&mut self, now: i64, failure: Failure) -> bool {
        let now = self.now.see(now);
        let cost = self.price(failure);
        match &mut self.policy {
            Policy::Aws { tokens, .. } => *tokens >= cost,
            Policy::Grpc { tokens, max, .. } => *tokens > *max / 2,
            Policy::Finagle {
                balance, reserve, ..
            } => balance.totals(now)[0].saturating_add(*reserve) >= i64::from(cost),
            Policy::Envoy {
                active,
                retries,
                share,
                min,
            } => {
                let part = u128::from(*active) * u128::from(share.as_ppm()) / u128::from(PPM);
                u128::from(*retries) < part.max(u128::from(*min))
            }
        }
    }

    /// How an attempt went.
    pub fn settle(&mut self, now: i64, attempt: Attempt, outcome: Outcome) {
        self.now.see(now);
        match &mut self.policy {
            Policy::Aws {
                tokens,
                capacity,
                refund,
                ..
            } => {
                if outcome == Outcome::Success {
                    let back = if attempt.retry { attempt.cost } else { *refund };
                    *tokens = tokens.saturating_add(back).min(*capacity);
                }
            }
            Policy::Grpc { tokens, max, ratio } => match outcome {
                Outcome::Success => *tokens = tokens.saturating_add(*ratio).min(*max),
                Outcome::Failure => *tokens = tokens.saturating_sub(TOKEN),
                Outcome::Ignored => {}
            },
            Policy::Finagle { .. } => {}
            Policy::Envoy {
                active, retries, ..
            } => {
                *active = active.saturating_sub(1);
                *retries = retries.saturating_sub(u64::from(attempt.retry));
            }
        }
    }

    /// Takes back an attempt that was not made: as if it had not been asked
    /// for.
    pub fn cancel(&mut self, now: i64, attempt: Attempt) {
        let now = self.now.see(now);
        match &mut self.policy {
            Policy::Aws {
                tokens, capacity, ..
            } => *tokens = tokens.saturating_add(attempt.cost).min(*capacity),
            Policy::Grpc { .. } => {}
            Policy::Finagle {
                balance, deposit, ..
            } => {
                let put = if attempt.retry {
                    -i64::from(attempt.cost)
                } else {
                    i64::from(*deposit)
                };
                balance.take_back(now, attempt.at, 0, put);
            }
            Policy::Envoy { .. } => self.settle(now, attempt, Outcome::Ignored),
        }
    }

    /// Retries that were refused. Since construction.
    pub fn denied(&self) -> u64 {
        self.denied
    }

    fn price(&self, failure: Failure) -> u32 {
        match self.policy {
            Policy::Aws { timeout_cost, .. } if failure == Failure::Timeout => timeout_cost,
            Policy::Aws { retry_cost, .. } => retry_cost,
            Policy::Finagle { withdrawal, .. } => withdrawal,
            Policy::Grpc { .. } | Policy::Envoy { .. } => 0,
        }
    }
}

/// Deposit 1000, withdrawal `1000 / share`, and a reserve of `min * ttl`
/// withdrawals. Without a share nothing is deposited and a retry costs 1.
fn finagle(ttl: u64, min: u32, share: Rate) -> Result<Policy, ConfigError> {
    if !(S..=60 * S).contains(&ttl) {
        let got = crate::text::duration(ttl);
        return Err(check::out_of_range("ttl", got, "1s to 60s"));
    }
    check::count("min_retries_per_sec", min, 0, 1_000_000)?;
    let ppm = share.as_ppm();
    if u64::from(ppm) > 10 * PPM {
        let allowed = "0% to 1000%";
        return Err(check::out_of_range("percent_can_retry", share, allowed));
    }
    if ppm == 0 && min == 0 {
        let allowed = "more than 0% while min_retries_per_sec is 0";
        return Err(check::conflict("percent_can_retry", share, allowed));
    }
    let (deposit, withdrawal) = match ppm {
        0 => (0, 1),
        // At most a billion.
        ppm => (TOKEN, (u64::from(TOKEN) * PPM / u64::from(ppm)) as u32),
    };
    // At most 6e16.
    let reserve = u128::from(min) * u128::from(withdrawal) * u128::from(ttl) / u128::from(S);
    let width = ttl.div_ceil(SLICES) as i64;
    Ok(Policy::Finagle {
        balance: Slices::new(SLICES as usize, width),
        reserve: reserve as i64,
        deposit,
        withdrawal,
    })
}
