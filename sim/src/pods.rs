//! Pods: who works, who waits, and what that would look like on a dashboard.
//!
//! Owns the queue of a pod, its workers and what an autoscaler would measure of them. Invariants: at most
//! `workers` requests are worked on; a queue holds exactly the attempts that wait in it; the integrals are
//! those of the numbers between two changes. O(1) a change. Pinned by `tests/conservation.rs` and
//! `tests/queues.rs`.

use std::collections::VecDeque;

use halfopen::ConfigError;
use halfopen::companions::{Next, Priority, QueueId, Shedder};

use crate::calls::{NEVER, NONE};
use crate::scenario::{Quota, Shedding};

/// A process of a service.
#[derive(Debug)]
pub(crate) struct Pod {
    pub(crate) service: u32,
    /// Its number among those of the service.
    pub(crate) number: u32,
    pub(crate) phase: Phase,
    pub(crate) created_at: i64,
    /// When it became ready.
    pub(crate) ready_at: i64,
    /// When it was gone.
    pub(crate) gone_at: i64,
    /// The caller in it, where the service calls another.
    pub(crate) caller: u32,
    /// Workers with a request, and those of them that wait for another service.
    pub(crate) busy: u32,
    pub(crate) calling: u32,
    /// Requests it has answered.
    pub(crate) done: u32,
    queue: Queue,
    /// The last period of its quota in which it works, and for how long.
    period: (i64, u64),
    integrals: Integrals,
    counted_to: i64,
    /// The integrals at some times, ascending.
    history: VecDeque<(i64, Integrals)>,
}

/// The life of a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    Starting,
    Ready,
    /// It takes nothing new and ends when it has answered everything.
    Ending,
    Gone,
}

/// Numbers times nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Integrals {
    /// Workers that work, not those that stand still for lack of quota; what is begun counts as done.
    pub(crate) working: i64,
    /// Workers with a request.
    pub(crate) busy: i64,
    /// Requests that wait.
    pub(crate) waiting: i64,
}

/// The same, on average.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Means {
    pub(crate) working: f64,
    pub(crate) busy: f64,
    pub(crate) waiting: f64,
}

#[derive(Debug)]
enum Queue {
    Plain {
        waiting: VecDeque<u32>,
        most: usize,
    },
    Shedding {
        shedder: Box<Shedder>,
        /// What the shedder calls each attempt, in the order in which they came.
        names: Vec<(QueueId, u32)>,
    },
}

/// What a queue said of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Offer {
    Waits,
    /// It waits in the place of this one.
    InsteadOf(u32),
    Refused,
}

/// What a worker does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Taken {
    Serve(u32),
    Shed(u32),
}

impl Pod {
    pub(crate) fn new(
        service: u32,
        number: u32,
        now: i64,
        shedding: Option<Shedding>,
    ) -> Result<Pod, ConfigError> {
        let plain = |most| Queue::Plain {
            waiting: VecDeque::new(),
            most,
        };
        let queue = match shedding {
            None => plain(usize::MAX),
            Some(Shedding::Length(most)) => plain(most as usize),
            Some(Shedding::Age(settings)) => Queue::Shedding {
                shedder: Box::new(Shedder::new(settings)?),
                names: Vec::new(),
            },
        };
        Ok(Pod {
            service,
            number,
            phase: Phase::Starting,
            created_at: now,
            ready_at: NEVER,
            gone_at: NEVER,
            caller: NONE,
            busy: 0,
            calling: 0,
            done: 0,
            queue,
            period: (0, 0),
            integrals: Integrals::default(),
            counted_to: now,
            history: VecDeque::from([(now, Integrals::default())]),
        })
    }

    /// Requests at the pod.
    pub(crate) fn load(&self) -> u32 {
        self.busy + self.waiting()
    }

    pub(crate) fn waiting(&self) -> u32 {
        match &self.queue {
            Queue::Plain { waiting, .. } => waiting.len() as u32,
            Queue::Shedding { shedder, .. } => shedder.len(),
        }
    }

    /// An attempt has come; one of so many workers may be free for it.
    pub(crate) fn offer(
        &mut self,
        now: i64,
        attempt: u32,
        priority: Priority,
        workers: u32,
    ) -> Offer {
        self.count(now);
        let full = self.busy >= workers;
        match &mut self.queue {
            Queue::Plain { waiting, most } if full && waiting.len() >= *most => Offer::Refused,
            Queue::Plain { waiting, .. } => {
                waiting.push_back(attempt);
                Offer::Waits
            }
            Queue::Shedding { shedder, names } => match shedder.offer(now, priority) {
                Err(_) => Offer::Refused,
                Ok(offered) => {
                    names.push((offered.id, attempt));
                    let shed = offered
                        .shed
                        .and_then(|it| forget(names, |name| name.0 == it));
                    shed.map_or(Offer::Waits, |it| Offer::InsteadOf(it.1))
                }
            },
        }
    }

    /// A worker is free: what it does next, if anything waits.
    pub(crate) fn take(&mut self, now: i64) -> Option<Taken> {
        self.count(now);
        match &mut self.queue {
            Queue::Plain { waiting, .. } => waiting.pop_front().map(Taken::Serve),
            Queue::Shedding { shedder, names } => {
                let (id, served) = match shedder.take(now) {
                    Next::Serve(id) => (id, true),
                    Next::Shed(id) => (id, false),
                    Next::Empty => return None,
                };
                let (_, attempt) = forget(names, |name| name.0 == id)?;
                Some(if served {
                    Taken::Serve(attempt)
                } else {
                    Taken::Shed(attempt)
                })
            }
        }
    }

    /// The caller of an attempt in the queue has gone. O(waiting).
    pub(crate) fn cancel(&mut self, now: i64, attempt: u32) {
        self.count(now);
        match &mut self.queue {
            Queue::Plain { waiting, .. } => {
                if let Some(at) = waiting.iter().position(|&it| it == attempt) {
                    waiting.remove(at);
                }
            }
            Queue::Shedding { shedder, names } => {
                if let Some((id, _)) = forget(names, |name| name.1 == attempt) {
                    shedder.cancel(id);
                }
            }
        }
    }

    /// A worker begins to wait for another service, or no longer does.
    pub(crate) fn call(&mut self, now: i64, begins: bool) {
        self.count(now);
        match begins {
            true => self.calling += 1,
            false => self.calling -= 1,
        }
    }

    /// A worker begins, or ends.
    pub(crate) fn work(&mut self, now: i64, begins: bool) {
        self.count(now);
        match begins {
            true => self.busy += 1,
            false => {
                self.busy -= 1;
                self.done += 1;
            }
        }
    }

    /// When a worker that begins now has worked for so long. Those that began before it take of the quota
    /// first, and of a period that is used up nothing is left. O(periods).
    pub(crate) fn work_until(&mut self, now: i64, work: u64, quota: Option<Quota>) -> i64 {
        let working = self.integrals.working;
        self.integrals.working = working.saturating_add_unsigned(work);
        let Some(Quota { quota, period }) = quota else {
            return now.saturating_add_unsigned(work);
        };
        let period = period.min(i64::MAX as u64) as i64;
        // Periods before the last one that is begun are used up.
        let now = now.max(self.period.0.saturating_mul(period));
        let number = now.div_euclid(period);
        if number > self.period.0 {
            self.period = (number, 0);
        }
        let end = number.saturating_add(1).saturating_mul(period);
        let first = quota.saturating_sub(self.period.1).min(end.abs_diff(now));
        if work <= first {
            self.period.1 += work;
            return now.saturating_add_unsigned(work);
        }
        // Whole periods, and what is left over in the last one.
        let each = quota.min(period as u64).max(1);
        let whole = (work - first - 1) / each;
        let rest = work - first - whole * each;
        self.period = (number.saturating_add_unsigned(whole + 1), rest);
        let last = self.period.0.saturating_mul(period);
        last.saturating_add_unsigned(rest)
    }

    /// Work of that length that was begun, and would have ended then, is not done any more. What it had of later
    /// periods is free for what begins from now on; what others have begun ends when it would have.
    pub(crate) fn give_back(&mut self, now: i64, work: u64, end: i64, quota: Option<Quota>) {
        let left = match quota {
            None => end.abs_diff(now),
            Some(Quota { quota, period }) => {
                let period = period.min(i64::MAX as u64) as i64;
                let number = now.div_euclid(period);
                // What is used of the periods after this one, until a time in one of them.
                let used = |(of, used): (i64, u64)| match of.saturating_sub(number) {
                    later @ 1.. => (later as u64 - 1)
                        .saturating_mul(quota)
                        .saturating_add(used),
                    _ => 0,
                };
                let last = end.div_euclid(period);
                let its = used((last, end.abs_diff(last.saturating_mul(period)).min(quota)));
                let all = used(self.period);
                let left = its.min(work).min(all);
                if left == 0 {
                    return;
                }
                self.period = match all - left {
                    0 => (number, quota),
                    rest => {
                        let whole = (rest - 1) / quota.max(1);
                        let of = number.saturating_add_unsigned(whole + 1);
                        (of, rest - whole * quota)
                    }
                };
                left
            }
        };
        self.integrals.working -= left.min(i64::MAX as u64) as i64;
    }

    /// The integrals until they were last counted.
    pub(crate) fn integrals(&self) -> Integrals {
        self.integrals
    }

    /// The integrals until now.
    pub(crate) fn count(&mut self, now: i64) -> Integrals {
        let time = now - self.counted_to;
        let add = |to: &mut i64, n: u32| *to = to.saturating_add(i64::from(n).saturating_mul(time));
        let waiting = self.waiting();
        add(&mut self.integrals.busy, self.busy);
        add(&mut self.integrals.waiting, waiting);
        self.counted_to = now;
        self.integrals
    }

    /// Takes a sample, and forgets those before `keep`.
    pub(crate) fn sample(&mut self, now: i64, keep: i64) {
        let it = self.count(now);
        self.history.push_back((now, it));
        while self.history.get(1).is_some_and(|it| it.0 <= keep) {
            self.history.pop_front();
        }
    }

    /// What was there on average between two times of samples, or since it was created if that is later;
    /// `None` before that.
    pub(crate) fn mean(&self, from: i64, to: i64) -> Option<Means> {
        let at = |time: i64| {
            let after = self.history.partition_point(|it| it.0 <= time);
            Some(self.history[after.checked_sub(1)?])
        };
        let ((from, first), (to, last)) = (at(from.max(self.created_at))?, at(to)?);
        let length = (to > from).then_some((to - from) as f64)?;
        let mean = |of: fn(&Integrals) -> i64| (of(&last) - of(&first)) as f64 / length;
        Some(Means {
            working: mean(|it| it.working),
            busy: mean(|it| it.busy),
            waiting: mean(|it| it.waiting),
        })
    }
}

/// Takes a name away, which is mostly among the first. O(waiting).
fn forget(
    names: &mut Vec<(QueueId, u32)>,
    which: impl Fn(&(QueueId, u32)) -> bool,
) -> Option<(QueueId, u32)> {
    let at = names.iter().position(which)?;
    Some(names.remove(at))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    #[test]
    fn a_pod_stands_still_when_its_quota_is_used_up() {
        let quota = Some(Quota {
            quota: 20 * MS as u64,
            period: 100 * MS as u64,
        });
        let mut pod = Pod::new(0, 0, 0, None).expect("a pod");
        // When a worker begins, for how long it works, and when it is done, in milliseconds.
        let cases = [
            ("at once", 0, 5, 5),
            ("what is left of the period", 5, 15, 20),
            ("nothing is left", 20, 5, 105),
            ("beyond a period's end", 190, 12, 202),
            // 18 are left of the third period, 20 each of the next two.
            ("longer than a quota", 210, 50, 412),
            ("beside what has begun", 300, 1, 401),
            ("much later", 1_000, 5, 1_005),
        ];
        for (name, begins, works, done) in cases {
            let until = pod.work_until(begins * MS, (works * MS) as u64, quota);
            assert_eq!(until / MS, done, "{name}");
        }
        assert_eq!(pod.work_until(7 * MS, 5, None), 7 * MS + 5);
        assert_eq!(pod.integrals().working, 93 * MS + 5);
    }

    #[test]
    fn what_is_cancelled_gives_its_later_periods_back() {
        let quota = Some(Quota {
            quota: 20 * MS as u64,
            period: 100 * MS as u64,
        });
        let mut pod = Pod::new(0, 0, 0, None).expect("a pod");
        pod.work(0, true);
        // 20 each in three periods, and 5 in the fourth.
        let end = pod.work_until(0, 65 * MS as u64, quota);
        assert_eq!(end, 305 * MS);
        // 20 are done at 50, and 45 will not be.
        pod.give_back(50 * MS, 65 * MS as u64, end, quota);
        assert_eq!(pod.integrals().working, 20 * MS);
        assert_eq!(pod.work_until(60 * MS, 5 * MS as u64, quota), 105 * MS);
        // Of two workers one has two periods, and the other the two after them.
        let one = pod.work_until(300 * MS, 40 * MS as u64, quota);
        pod.work(300 * MS, true);
        let other = pod.work_until(300 * MS, 40 * MS as u64, quota);
        assert_eq!((one, other), (420 * MS, 620 * MS));
        pod.give_back(310 * MS, 40 * MS as u64, one, quota);
        assert_eq!(pod.integrals().working, 85 * MS);
        assert_eq!(pod.period, (5, 20 * MS as u64));
        // Of what is booked until its end, no more than its own is given back.
        let third = pod.work_until(315 * MS, 10 * MS as u64, quota);
        assert_eq!(third, 610 * MS);
        pod.give_back(320 * MS, 40 * MS as u64, other, quota);
        assert_eq!(pod.period, (4, 10 * MS as u64));
        // Without a limit all that is left is not done.
        let mut free = Pod::new(0, 0, 0, None).expect("a pod");
        let end = free.work_until(0, 65 * MS as u64, None);
        free.give_back(50 * MS, 65 * MS as u64, end, None);
        assert_eq!(free.integrals().working, 50 * MS);
    }
}
