//! Kubernetes' horizontal pod autoscaler, as it is documented.
//!
//! Owns how many pods are wanted: the metric against its target with a tolerance, pods that are not ready and
//! metrics that are missing, stabilisation over the recommendations of a window, and how fast pods may be
//! added or taken. At 0 pods it does nothing, if its minimum is more, until somebody adds some. Invariant: a
//! decision depends on what was given to [`Autoscaler::decide`] alone. Sources: kubernetes/website
//! `horizontal-pod-autoscale`, with its implicit maintenance-mode deactivation; kubernetes/kubernetes
//! `pkg/apis/autoscaling/v2/defaults.go`, `pkg/controller/podautoscaler/replica_calculator.go` and
//! `horizontal.go`. O(pods + decisions of the windows). Pinned by `tests`, decision by decision.

/// The settings of an autoscaler; the defaults are Kubernetes'.
#[derive(Clone, Debug, PartialEq)]
pub struct Hpa {
    /// What it looks at.
    pub metric: Metric,
    /// The least pods.
    pub min: u32,
    /// The most pods.
    pub max: u32,
    /// How often it decides, nanoseconds.
    pub every: u64,
    /// The time that a metric is the mean of, nanoseconds.
    pub window: u64,
    /// How old the newest sample is by then, nanoseconds.
    pub lag: u64,
    /// So near to the target nothing changes: a share of it.
    pub tolerance: f64,
    /// It scales out by the least recommendation of so long, nanoseconds.
    pub up_after: u64,
    /// It scales in by the most of so long, nanoseconds.
    pub down_after: u64,
    /// Out, it adds so many pods within 15 s, or the share below if that is more.
    pub up_pods: u32,
    /// Out, it adds this share of the pods within 15 s, per cent.
    pub up_percent: u32,
    /// In, it takes this share of the pods within 15 s, per cent.
    pub down_percent: u32,
}

/// What an autoscaler looks at.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Metric {
    /// How busy the workers of a pod are, per cent, on average.
    Cpu {
        /// Wanted.
        target: f64,
    },
    /// How many requests wait at a pod, on average.
    Queue {
        /// Wanted.
        target: f64,
    },
    /// How many requests are at a pod, waiting or worked on, on average.
    Concurrency {
        /// Wanted.
        target: f64,
    },
}

impl Metric {
    /// What is wanted of it.
    pub fn target(self) -> f64 {
        match self {
            Metric::Cpu { target } | Metric::Queue { target } | Metric::Concurrency { target } => {
                target
            }
        }
    }
}

impl Hpa {
    /// Kubernetes' defaults for a metric: decisions every 15 s about the mean of a minute.
    pub fn new(metric: Metric, min: u32, max: u32) -> Hpa {
        const S: u64 = 1_000_000_000;
        Hpa {
            metric,
            min,
            max,
            every: 15 * S,
            window: 60 * S,
            lag: 15 * S,
            tolerance: 0.1,
            up_after: 0,
            down_after: 300 * S,
            up_pods: 4,
            up_percent: 100,
            down_percent: 100,
        }
    }
}

/// A pod as an autoscaler sees it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct PodSeen {
    /// Whether it is ready and counts.
    pub(crate) ready: bool,
    /// The metric; `None` where it has none yet.
    pub(crate) metric: Option<f64>,
}

/// An autoscaler with what it remembers.
#[derive(Clone, Debug)]
pub(crate) struct Autoscaler {
    hpa: Hpa,
    /// When it recommended how many.
    recommended: Vec<(u64, u32)>,
    /// When it added how many, or took them.
    changed: Vec<(u64, i64)>,
}

/// The time within which policies limit changes.
const PERIOD: u64 = 15_000_000_000;

impl Autoscaler {
    pub(crate) fn new(hpa: Hpa) -> Autoscaler {
        Autoscaler {
            hpa,
            recommended: Vec::new(),
            changed: Vec::new(),
        }
    }

    /// How many pods are to be there from now on. `pods` are those that are.
    pub(crate) fn decide(&mut self, now: u64, pods: &[PodSeen]) -> u32 {
        let current = pods.len() as u32;
        if current == 0 && self.hpa.min > 0 {
            return 0;
        }
        let wanted = recommend(&self.hpa, pods);
        let kept = self.hpa.up_after.max(self.hpa.down_after);
        self.recommended.retain(|&(at, _)| at + kept >= now);
        self.recommended.push((now, wanted));
        let stable = self.stable(now, current);
        let wanted = self
            .limited(now, current, stable)
            .clamp(self.hpa.min, self.hpa.max);
        self.changed.retain(|&(at, _)| at + PERIOD > now);
        if wanted != current {
            self.changed
                .push((now, i64::from(wanted) - i64::from(current)));
        }
        wanted
    }

    /// No more than the least of the window for scaling out, no fewer than the most of the other.
    fn stable(&self, now: u64, current: u32) -> u32 {
        let within = |window: u64| {
            let all = self
                .recommended
                .iter()
                .filter(move |it| it.0 + window >= now);
            all.map(|it| it.1)
        };
        let up = within(self.hpa.up_after).min().unwrap_or(current);
        let down = within(self.hpa.down_after).max().unwrap_or(current);
        // Both windows hold the newest recommendation, so that up <= down.
        current.clamp(up, down)
    }

    fn limited(&self, now: u64, current: u32, wanted: u32) -> u32 {
        let recent = self.changed.iter().filter(|it| it.0 + PERIOD > now);
        let change = |sign: i64| -> i64 {
            let those = recent
                .clone()
                .map(|it| it.1)
                .filter(|it| it.signum() == sign);
            those.sum()
        };
        let share = |of: u64, percent: u32| (of * u64::from(percent)).div_ceil(100);
        if wanted > current {
            let before = (i64::from(current) - change(1)).max(0) as u64;
            let most = (before + u64::from(self.hpa.up_pods))
                .max(before + share(before, self.hpa.up_percent));
            wanted
                .min(u32::try_from(most).unwrap_or(u32::MAX))
                .max(current)
        } else {
            let before = (i64::from(current) - change(-1)).max(0) as u64;
            let least = before.saturating_sub(share(before, self.hpa.down_percent));
            wanted
                .max(u32::try_from(least).unwrap_or(u32::MAX))
                .min(current)
        }
    }
}

/// The pods that the metric alone asks for.
fn recommend(hpa: &Hpa, pods: &[PodSeen]) -> u32 {
    let current = pods.len() as u32;
    let target = hpa.metric.target();
    let known: Vec<f64> = pods
        .iter()
        .filter(|it| it.ready)
        .filter_map(|it| it.metric)
        .collect();
    if known.is_empty() {
        return current;
    }
    let sum: f64 = known.iter().sum();
    let ratio = sum / (target * known.len() as f64);
    let near = |ratio: f64| (ratio - 1.0).abs() <= hpa.tolerance;
    let unready = pods.iter().filter(|it| !it.ready).count();
    let missing = pods
        .iter()
        .filter(|it| it.ready && it.metric.is_none())
        .count();
    if missing == 0 && (unready == 0 || ratio <= 1.0) {
        return match near(ratio) {
            true => current,
            false => ceil(ratio * known.len() as f64),
        };
    }
    // Who is not ready will do nothing for it; who says nothing is taken to speak against a change.
    let (of_missing, counted) = match ratio > 1.0 {
        true => (0.0, known.len() + missing + unready),
        false => (target, known.len() + missing),
    };
    let again = (sum + of_missing * missing as f64) / (target * counted as f64);
    let pods = ceil(again * counted as f64);
    let turned = (again > 1.0) != (ratio > 1.0);
    let against = if again > 1.0 {
        pods < current
    } else {
        pods > current
    };
    match near(again) || turned || against {
        true => current,
        false => pods,
    }
}

/// The next whole number, unless arithmetic alone is what is beyond it.
fn ceil(pods: f64) -> u32 {
    (pods - 1e-9).ceil().clamp(0.0, 1e9) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;

    fn ready(metric: f64) -> PodSeen {
        PodSeen {
            ready: true,
            metric: Some(metric),
        }
    }

    const STARTING: PodSeen = PodSeen {
        ready: false,
        metric: None,
    };
    const SILENT: PodSeen = PodSeen {
        ready: true,
        metric: None,
    };

    #[test]
    fn the_metric_alone() {
        let hpa = Hpa::new(Metric::Cpu { target: 80.0 }, 1, 100);
        let cases: [(&str, Vec<PodSeen>, u32); 11] = [
            // ceil(3 * 100 / 80)
            ("more", vec![ready(100.0); 3], 4),
            ("within a tenth", vec![ready(87.9); 3], 3),
            ("just beyond", vec![ready(88.1); 3], 4),
            ("less", vec![ready(20.0); 4], 1),
            ("the mean counts", vec![ready(160.0), ready(40.0)], 3),
            // 300 / 80 over 3 asks for 4; with 2 that start: 300 / (80 * 5) is below 1, so nothing changes.
            (
                "starting pods hold it back",
                vec![ready(100.0), ready(100.0), ready(100.0), STARTING, STARTING],
                5,
            ),
            // 600 / (80 * 4) = 1.875
            (
                "but not for ever",
                vec![ready(200.0), ready(200.0), ready(200.0), STARTING],
                8,
            ),
            (
                "down, they do not count",
                vec![ready(20.0), ready(20.0), STARTING],
                1,
            ),
            // (20 + 20 + 80) / (80 * 3) = 0.5
            (
                "down, the silent are at the target",
                vec![ready(20.0), ready(20.0), SILENT],
                2,
            ),
            // 320 / (80 * 3) = 1.33
            (
                "up, they are idle",
                vec![ready(160.0), ready(160.0), SILENT],
                4,
            ),
            ("nobody says anything", vec![SILENT, STARTING], 2),
        ];
        for (name, pods, expected) in cases {
            assert_eq!(recommend(&hpa, &pods), expected, "{name}");
        }
    }

    /// Decisions at times in seconds, each with a load per pod, and the pods that follow.
    fn decisions(hpa: Hpa, first: u32, steps: &[(u64, f64, u32)]) {
        let mut autoscaler = Autoscaler::new(hpa);
        let mut pods = first;
        for &(at, load, expected) in steps {
            let all = vec![ready(load / f64::from(pods)); pods as usize];
            pods = autoscaler.decide(at * S, &all);
            assert_eq!(pods, expected, "at {at} s");
        }
    }

    #[test]
    fn it_grows_by_four_or_twice_within_a_period() {
        let hpa = Hpa::new(Metric::Concurrency { target: 1.0 }, 1, 50);
        // Within the same 15 s nothing is added to what was.
        decisions(
            hpa,
            3,
            &[
                (0, 100.0, 7),
                (5, 100.0, 7),
                (15, 100.0, 14),
                (30, 100.0, 28),
                (45, 100.0, 50),
            ],
        );
    }

    #[test]
    fn it_shrinks_after_five_minutes_of_less() {
        let hpa = Hpa::new(Metric::Concurrency { target: 1.0 }, 2, 50);
        decisions(
            hpa,
            10,
            &[
                (0, 10.0, 10),
                (15, 3.0, 10),
                (300, 3.0, 10),
                (301, 3.0, 3),
                (620, 0.0, 2),
            ],
        );
    }

    #[test]
    fn it_does_nothing_while_somebody_has_taken_all_pods() {
        let mut autoscaler = Autoscaler::new(Hpa::new(Metric::Queue { target: 2.0 }, 3, 50));
        let pods = |n: usize| vec![ready(6.0); n];
        for (at, there, expected) in [(0, 3, 7), (15, 0, 0), (300, 0, 0), (315, 1, 3)] {
            assert_eq!(
                autoscaler.decide(at * S, &pods(there)),
                expected,
                "at {at} s"
            );
        }
        let hpa = Hpa::new(Metric::Queue { target: 2.0 }, 0, 50);
        assert_eq!(Autoscaler::new(hpa).decide(0, &[]), 0);
    }

    #[test]
    fn it_waits_before_it_grows_when_told_to() {
        let hpa = Hpa {
            up_after: 60 * S,
            ..Hpa::new(Metric::Queue { target: 2.0 }, 1, 50)
        };
        decisions(
            hpa,
            2,
            &[(0, 4.0, 2), (15, 12.0, 2), (60, 12.0, 2), (61, 12.0, 6)],
        );
    }
}
