//! Behaviour tests of the library, one module an area.

mod advise;
mod calls;
mod cli;
mod clickhouse;
mod compare;
mod engine;
mod estimate;
mod files;
mod fit;
mod given;
mod golden;
mod made;
mod observed;
mod panes;
mod picture;
mod plot;
mod real;
mod recorded;
mod remedies;
mod replay;
mod retries;
mod simulate;
mod table;
mod twins;
mod view;
mod what_if;
