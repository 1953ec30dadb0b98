//! What happened: what was withheld, how sure the states are, and the settings that explain them.

use super::{Act, Block, Cell, DASH, head, percent};
use crate::format;
use crate::observed::{Fit, Observed, Range, Seen, Withheld};

/// What there is to say beside the attempts.
pub fn happened(observed: &Observed, fits: &[Fit]) -> Vec<Block> {
    let mut blocks = Vec::new();
    if let Some(it) = crate::observed::withheld(observed) {
        blocks.push(Block::Text(withheld(&it)));
    }
    blocks.extend(sureness(observed).map(Block::Note));
    blocks.extend(unknown(observed).map(Block::Note));
    if let Some(best) = fits.first() {
        blocks.push(Block::Heading("Settings that explain it".to_owned()));
        blocks.push(Block::Text(
            "A breaker with these settings changes its state when the observed ones do. Press one to replay \
             it."
                .to_owned(),
        ));
        blocks.push(Block::Table {
            head: head(&["settings", "agree"]),
            rows: fits.iter().map(row).collect(),
        });
        blocks.push(Block::Note(
            "Others within these ranges, together, explain the calls as well:".to_owned(),
        ));
        blocks.push(Block::Table {
            head: head(&["setting", "from", "to"]),
            rows: best.ranges.iter().map(range_row).collect(),
        });
    }
    blocks
}

fn row(fit: &Fit) -> Vec<Cell> {
    let text = fit.settings.to_string();
    let act = Act::Settings(text.clone());
    vec![
        Cell::with(text.replace(',', ", "), Some(act)),
        percent(fit.agreement).into(),
    ]
}

fn range_row(it: &Range) -> Vec<Cell> {
    let ends = range(it).map(|it| Cell::from(it.unwrap_or_else(|| DASH.to_owned())));
    let [low, high] = ends;
    vec![it.setting.into(), low, high]
}

/// A range's ends for people; the lower is `None` where anything less will do, too.
pub fn range(range: &Range) -> [Option<String>; 2] {
    let text = |text: &str| {
        // A share of slow calls stands before how long they are.
        let (share, value) = match text.split_once('@') {
            Some((share, value)) => ([share, " over "].concat(), value),
            None => (String::new(), text),
        };
        match value.strip_suffix("ns").map(str::parse) {
            Some(Ok(0)) => None,
            Some(Ok(ns)) => Some([share, format::duration(ns)].concat()),
            _ => Some(text.to_owned()),
        }
    };
    [text(&range.low), text(&range.high)]
}

/// A sentence on what breakers withheld.
pub fn withheld(it: &Withheld) -> String {
    let [low, mid, high] = it.share.map(percent);
    let open = format::duration(it.open_ns);
    let (what, were) = match it.counted {
        true => (
            [&mid, " of the calls were refused"].concat(),
            ": breakers were open for ",
        ),
        // Each opening may as well be none.
        false if it.share[0] <= 0.0 => (
            ["Up to ", &high, " of the demand may have been withheld"].concat(),
            ", if breakers were open for ",
        ),
        false => (
            [
                "About ",
                &mid,
                " of the demand was withheld (",
                &low,
                " to ",
                &high,
                ")",
            ]
            .concat(),
            ": breakers were open for ",
        ),
    };
    [&what, were, &open, " in all."].concat()
}

/// How sure the states are that are told.
fn sureness(observed: &Observed) -> Option<String> {
    let states = observed.breakers.iter().flat_map(|it| &it.states);
    let known = states.filter(|it| it.state != Seen::Unknown);
    let least = known.map(|it| it.sure).reduce(f64::min)?;
    if least >= 1.0 {
        return Some("The spans record the states of the breakers.".to_owned());
    }
    let least = percent(least);
    let text = "States told from the calls alone; the least sure is ";
    Some([text, &least, " sure."].concat())
}

/// Where the calls do not tell the state.
fn unknown(observed: &Observed) -> Option<String> {
    let states = observed.breakers.iter().flat_map(|it| &it.states);
    let (mut unknown, mut all) = (0u64, 0u64);
    for it in states {
        let length = it.to.saturating_sub(it.from).max(0) as u64;
        all = all.saturating_add(length);
        if it.state == Seen::Unknown {
            unknown = unknown.saturating_add(length);
        }
    }
    let share = format::share(unknown, all);
    match unknown {
        0 => None,
        _ if unknown == all => Some(
            "Too few calls to tell what the breakers did: the states cannot be told, and none is guessed."
                .to_owned(),
        ),
        _ => Some(["For ", &share, " of the time the calls do not tell the state."].concat()),
    }
}
