//! Rows that are read again, beside everything else that the thread does.
//!
//! Invariants: the newest one that is asked for is read, and gives way after each piece; what is not wanted any more
//! is neither read on nor answered. The reading of files ends it.

use std::rc::Rc;

use web_sys::File;

use super::Thread;
use crate::{dom, stream};
use herdscope::messages::Reply;
use herdscope::panes::Block;

impl Thread {
    /// Reads what the row of a span says.
    pub(super) fn row(self: &Rc<Self>, id: u32, span: Option<u32>, file: Option<File>) {
        self.row.set(id);
        let Some(span) = span else { return };
        let thread = self.clone();
        dom::spawn(Box::pin(async move {
            let read = thread.read_row(id, span, file).await;
            if thread.row.get() == id {
                let blocks = read.unwrap_or_else(|why| vec![Block::Text(why)]);
                thread.reply(id, &Reply::Row(blocks));
            }
        }));
    }

    async fn read_row(&self, id: u32, span: u32, file: Option<File>) -> Result<Vec<Block>, String> {
        let mut row = Box::new(self.engine().row(span)?);
        let mut bytes = match (&row.url, &file) {
            (Some(url), _) => stream::of_address(&self.scope, url).await?.0,
            (None, Some(file)) => stream::of_file(file, row.from)?,
            (None, None) => return row.finish(),
        };
        while let Some(piece) = bytes.next().await? {
            if self.row.get() != id || row.push(&piece) {
                break;
            }
            // Files are not read meanwhile: nobody else has these turns.
            self.turns.give_way().await;
        }
        bytes.close();
        row.finish()
    }
}
