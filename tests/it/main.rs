//! Behaviour tests of the library, one module an area.

mod calls;
mod cli;
mod clickhouse;
mod engine;
mod given;
mod golden;
mod picture;
mod plot;
mod real;
mod replay;
mod retries;
mod table;
mod view;
