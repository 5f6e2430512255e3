//! Tables: those that hold data become rows; those that only arrange a page become what they hold.

use super::{Renderer, writer::Writer};
use crate::web::tree::{NodeId, is_block};

/// The most columns of a table.
const COLUMNS_MAX: usize = 60;
/// The most text of a cell, in bytes.
const CELL_BYTES_MAX: usize = 4000;

impl Renderer<'_> {
    pub(super) fn table(&mut self, table: NodeId) {
        let rows = self.rows(table);
        let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
        if columns < 2
            || rows.len() < 2
            || columns > COLUMNS_MAX
            || rows.iter().flatten().any(|&it| self.is_large(it))
        {
            self.arranged(table);
            return;
        }
        self.out.paragraph();
        if let Some(caption) = self.tree.children(table).find(|&it| self.tree.name(it) == "caption") {
            self.children(caption);
            self.out.paragraph();
        }
        for (index, row) in rows.iter().enumerate() {
            if self.out.is_full() {
                break;
            }
            let mut cells: Vec<String> = row.iter().map(|&cell| self.cell(cell)).collect();
            cells.resize(columns, String::new());
            self.out.raw(&format!("| {} |", cells.join(" | ")));
            self.out.line();
            if index == 0 && !self.style.plain {
                self.out.raw(&format!("|{}", " --- |".repeat(columns)));
                self.out.line();
            }
        }
        self.out.paragraph();
    }

    /// The cells of all rows, whichever part of the table they are in.
    fn rows(&self, table: NodeId) -> Vec<Vec<NodeId>> {
        let tree = self.tree;
        let live = |node: &NodeId| !self.skip[*node];
        let mut rows = Vec::new();
        let mut row = |node: NodeId| {
            let cells = tree.children(node).filter(live).filter(|&it| matches!(tree.name(it), "td" | "th"));
            let cells: Vec<NodeId> = cells.collect();
            if !cells.is_empty() {
                rows.push(cells);
            }
        };
        for part in tree.children(table).filter(live) {
            match tree.name(part) {
                "tr" => row(part),
                "thead" | "tbody" | "tfoot" => {
                    tree.children(part).filter(live).filter(|&it| tree.name(it) == "tr").for_each(&mut row);
                }
                _ => {}
            }
        }
        rows
    }

    /// Whether a cell holds what has no room in a row. Looks one level deep: what is nested is a table or a
    /// list there already, or inside of a box that may be.
    fn is_large(&self, cell: NodeId) -> bool {
        let tree = self.tree;
        self.blocks[cell]
            && tree.children(cell).any(|it| {
                let heavy =
                    |node| matches!(tree.name(node), "table" | "pre" | "h1" | "h2" | "h3" | "blockquote");
                heavy(it) || (is_block(tree.name(it)) && tree.children(it).any(heavy))
            })
    }

    fn cell(&mut self, cell: NodeId) -> String {
        let outer = std::mem::replace(&mut self.out, Writer::new(CELL_BYTES_MAX));
        self.out.one_line(true);
        self.children(cell);
        let inner = std::mem::replace(&mut self.out, outer).finish();
        inner.replace('\n', " ").replace('|', "\\|")
    }

    fn arranged(&mut self, table: NodeId) {
        self.out.paragraph();
        self.children(table);
        self.out.paragraph();
    }
}
