//! Incidents that an independent little model makes, with the truth to the nanosecond: whatever seed
//! and settings a test wants.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError};

use herdscope::dataset::Dataset;
use serde_json::Value;

use crate::given::read;

/// Ten and more incidents with two attempts at least: seeds, fleets and settings.
pub const INCIDENTS: &[&str] = &[
    "--seed 1",
    "--seed 2 --clients 6 --rps 240",
    "--seed 3 --clients 2 --rps 120 --open 30",
    "--seed 4 --clients 8 --rps 320 --probes 5",
    "--seed 5 --clients 3 --rps 150 --open 20 --probes 20",
    "--seed 6 --window 50 --mincalls 10",
    "--seed 7 --clients 4 --rps 180 --open 90 --dur 400 --scale-at 300",
    "--seed 8 --clients 5 --rps 200 --window 200 --mincalls 50",
    "--seed 9 --clients 1 --rps 160 --open 15",
    "--seed 10 --clients 10 --rps 300 --open 45",
    "--seed 11 --clients 4 --rps 200 --probes 3 --open 40",
    "--seed 12 --clients 6 --rps 200 --open 10 --probes 10",
    // Good results come in after the trip: the window is shorter than what is out.
    "--seed 1046 --rps 200 --window 20 --mincalls 20 --open 20 --probes 2 --timeout 1 --dur 120 --scale-at 48",
    "--seed 1044 --clients 12 --rps 200 --window 50 --mincalls 5 --open 45 --probes 30 --pods-after 8 --dur 202 \
     --scale-at 141",
    // Few calls: a pause hardly tells the probes.
    "--seed 1047 --clients 12 --rps 160 --window 50 --open 30 --pods 4 --dur 135 --scale-at 54",
    // The file ends in the middle of the herd: the openings lie behind the last calls.
    "--seed 101 --dur 65.5 --scale-at 400",
];

/// An incident and what is true of it.
pub type Incident = Arc<(Dataset, Value)>;

/// The incident of these arguments; `None` where the model or Python is missing. Made and read once,
/// whichever tests ask.
pub fn incident(arguments: &'static str) -> Option<Incident> {
    static MADE: Mutex<BTreeMap<&str, Incident>> = Mutex::new(BTreeMap::new());
    let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(it) = made.get(arguments) {
        return Some(it.clone());
    }
    let folder = make(arguments)?;
    let text = std::fs::read_to_string(folder.join("truth.json")).expect("truth.json");
    let truth = serde_json::from_str(&text).expect("JSON");
    let it = Arc::new((read(&folder.join("spans.csv")), truth));
    made.insert(arguments, it.clone());
    Some(it)
}

fn make(arguments: &str) -> Option<PathBuf> {
    let Some(traces) = std::env::var_os("HERDSCOPE_TRACES") else {
        eprintln!("not run: HERDSCOPE_TRACES names no folder of traces");
        return None;
    };
    let name: String = arguments.split_whitespace().collect();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("herd{name}"));
    let done = folder.join("done");
    if !done.exists() {
        let made = Command::new("python3")
            .arg(Path::new(&traces).join("herd/make_herd.py"))
            .arg(&folder)
            .args(arguments.split_whitespace())
            .output();
        match made {
            Ok(made) if made.status.success() => {
                std::fs::write(&done, "").expect("a folder to write");
            }
            Ok(made) => panic!("{}", String::from_utf8_lossy(&made.stderr)),
            Err(error) => {
                eprintln!("not run: python3: {error}");
                return None;
            }
        }
    }
    Some(folder)
}
