//! A call through a breaker, with an answer for when there is none.
//!
//! ```text
//! cargo run -p halfopen --example basic
//! ```

use std::thread::sleep;
use std::time::Duration;

use halfopen::{Breaker, Builder, CallError, Config};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let config: Config = "window=10 min=4 fail=50% open=300ms probes=1".parse()?;
    let catalog = Builder::new(config)
        .name("catalog")
        .on_transition(|it, change| println!("  {} is {}: {}", it.name(), change.to, change.cause))
        .build();
    for n in 0..12 {
        println!("{}", price(&catalog, n));
        sleep(Duration::from_millis(50));
    }
    Ok(())
}

fn price(catalog: &Breaker, n: u32) -> String {
    let fetch = || match n {
        1..5 => Err("connection refused"),
        _ => Ok(format!("{n}: the price is {}", 100 + n)),
    };
    catalog.call_or_else(fetch, |err| match err {
        CallError::Rejected(rejected) => format!("{n}: yesterday's price, as {rejected}"),
        CallError::Failed(err) => format!("{n}: yesterday's price ({err})"),
    })
}
