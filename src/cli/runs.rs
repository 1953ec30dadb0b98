//! A run of the simulator, watched from its beginning to its end.
//!
//! Owns how much a run may hold in memory. Invariant: what is refused is said with the key that makes it so much, what
//! it comes to, and what is allowed. Costs nothing beside the run. Pinned by the tests below.

use herdscope::format;
use herdscope_sim::{Group, Run, Scenario, Simulation};

/// Requests, attempts at them and changes of breakers; some 120 bytes each.
pub const MOST_KEPT: usize = 20_000_000;

/// How many requests are to be expected of a scenario.
pub fn expected(scenario: &Scenario) -> f64 {
    let each = scenario.groups.iter().map(|it| of_group(scenario, it));
    each.sum()
}

/// Whether the requests that are to be expected can be held in memory, or why not.
pub fn can_be_kept(scenario: &Scenario) -> Result<(), String> {
    // Each is made one attempt at.
    match 2.0 * expected(scenario) <= MOST_KEPT as f64 {
        true => Ok(()),
        false => Err(format!(
            "{}, and a run holds {} at most; lower the rate, or shorten the duration",
            demand(scenario),
            format::counted(MOST_KEPT as u64 / 2, "request")
        )),
    }
}

/// Runs to the end, unless it is not to go on any more; why it cannot, if it cannot.
pub fn to_end(
    mut run: Simulation,
    scenario: &Scenario,
    most: usize,
    goes_on: impl Fn() -> bool,
) -> Result<Option<Run>, String> {
    while run.step().map_err(|error| error.to_string())? {
        if !goes_on() {
            return Ok(None);
        }
        if run.kept() > most {
            return Err(format!(
                "within {} it came to {} requests and attempts, and a run holds {most_shown} at most ({}); lower the rate or \
                 what is tried again, or shorten the duration",
                format::duration(run.now().unsigned_abs()),
                format::count(run.kept() as u64),
                demand(scenario),
                most_shown = format::count(most as u64),
            ));
        }
    }
    Ok(Some(run.finish()))
}

/// The demand of the client that asks for most.
fn demand(scenario: &Scenario) -> String {
    let by_demand =
        |a: &&Group, b: &&Group| of_group(scenario, a).total_cmp(&of_group(scenario, b));
    let Some(group) = scenario.groups.iter().max_by(by_demand) else {
        return "there is no client".to_owned();
    };
    format!(
        "client.rate of \u{201c}{}\u{201d} comes to {} within {}",
        group.name,
        format::counted(of_group(scenario, group) as u64, "request"),
        format::duration(scenario.duration)
    )
}

fn of_group(scenario: &Scenario, group: &Group) -> f64 {
    group.demand.expected(scenario.duration)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scenario(rate: &str, more: &str) -> Scenario {
        let text = format!(
            "name = \"x\"\nduration = \"10m\"\n[[client]]\nname = \"few\"\nrate = \"1/s\"\ncalls = \"shop\"\n\
             [[client]]\nname = \"web\"\nrate = {rate}\ncalls = \"shop\"\n{more}[[service]]\nname = \"shop\"\nwork = \"1ms\"\n"
        );
        Scenario::from_toml(&text).expect("a scenario")
    }

    #[test]
    fn what_cannot_be_held_is_refused_before_it_is_run() {
        for (rate, expected) in [
            ("\"16000/s\"", None),
            ("\"17000/s\"", Some("10,200,000")),
            // Nothing at first, and 35,000 more a second in the end.
            (
                "[[\"0s\", \"0/s\"], [\"10m\", \"35000/s\", \"ramp\"]]",
                Some("10,500,000"),
            ),
        ] {
            let refused = can_be_kept(&scenario(rate, "")).err();
            let said = expected.map(|it| {
                format!(
                    "client.rate of \u{201c}web\u{201d} comes to {it} requests within 10 min 00 s, and a run holds 10,000,000 requests \
                     at most; lower the rate, or shorten the duration"
                )
            });
            assert_eq!(refused, said, "{rate}");
        }
    }

    #[test]
    fn a_run_that_grows_beyond_what_is_held_ends() {
        let tried_again = "retry = { attempts = 100, base = \"1ms\", cap = \"1ms\", jitter = \"none\" }\n\
            [[fault]]\nservice = \"shop\"\nat = \"0s\"\nlasts = \"10m\"\nfails = true\n";
        for (more, grows) in [("", false), (tried_again, true)] {
            let told = scenario("\"10/s\"", more);
            let run = Simulation::new(told.clone(), 1).expect("settings");
            let ended = to_end(run, &told, 20_000, || true);
            match ended {
                Ok(run) => assert!(run.is_some_and(|it| it.summary.served > 6_000) && !grows),
                Err(why) => assert!(
                    grows && why.contains("holds 20,000 at most (client.rate of \u{201c}web\u{201d} comes to 6,000 requests"),
                    "{why}"
                ),
            }
        }
    }

    #[test]
    fn a_run_that_is_not_to_go_on_ends_within_its_second() {
        let told = scenario("\"16000/s\"", "");
        let run = Simulation::new(told.clone(), 1).expect("settings");
        let asked = std::cell::Cell::new(0);
        let ended = to_end(run, &told, MOST_KEPT, || {
            asked.set(asked.get() + 1);
            asked.get() < 4
        });
        assert_eq!((ended.map(|it| it.is_none()), asked.get()), (Ok(true), 4));
    }
}
