//! The reader of files, from outside: what it makes of each exporter's file, of dirty ones, of what is
//! no table of spans, of any bytes at all, and of the real files where they are at hand.

mod bad_input;
mod edge;
mod expect;
mod exporters;
mod json;
mod properties;
mod real;
mod row;
mod support;
mod times;
mod told;
mod writers;
