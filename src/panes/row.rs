//! All that the row of a span says.

use super::Block;
use crate::ingest::row::Said;

/// A table of the cells, and one of the attributes of each column that holds some.
pub fn row(said: Vec<Said>) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut rows = Vec::new();
    let mut of = String::new();
    let table = |rows| Block::Table {
        head: Vec::new(),
        rows,
    };
    for [column, name, text] in said {
        if column != of {
            blocks.push(table(std::mem::take(&mut rows)));
            blocks.push(Block::Heading(column.clone()));
            of = column;
        }
        rows.push(vec![name.into(), text.into()]);
    }
    blocks.push(table(rows));
    blocks
}
