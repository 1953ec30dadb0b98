//! All that the row of a span says.

use super::Block;
use crate::ingest::row::Cell;

/// A table of the cells, and one of the attributes of each column that holds some.
pub fn row(cells: Vec<Cell>) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut rows = Vec::new();
    let mut of = String::new();
    let table = |rows| Block::Table {
        head: Vec::new(),
        rows,
    };
    for cell in cells {
        if cell.of != of {
            blocks.push(table(std::mem::take(&mut rows)));
            blocks.push(Block::Heading(cell.of.clone()));
            of = cell.of;
        }
        rows.push(vec![cell.name.into(), cell.text.into()]);
    }
    blocks.push(table(rows));
    blocks
}
