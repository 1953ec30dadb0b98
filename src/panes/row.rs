//! All that the row of a span says.

use super::{Act, Block, Cell};
use crate::filter::{self, Field};
use crate::ingest::row::Said;

/// A table of the cells, and one of the attributes of each column that holds some. A cell that says what the table
/// `kept` of the span leads to the spans that say the same; all can be copied.
pub fn row(said: Vec<Said>, kept: &[(Field, String)]) -> Vec<Block> {
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
        let field = kept.iter().find(|it| it.1 == text && !text.is_empty());
        let test = field.map(|it| filter::is(it.0, &text));
        rows.push(vec![
            name.into(),
            Cell::with(text.clone(), test.map(Act::Filter)),
            Cell::with("copy".to_owned(), Some(Act::Copy(text))),
        ]);
    }
    blocks.push(table(rows));
    blocks
}
