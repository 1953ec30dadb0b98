//! The order of the functions in the page's wasm.
//!
//! What repeats takes fewer bits the nearer it was. Functions that resemble each other therefore follow
//! one upon the other: always the one that has most in common with those just before it, which takes a
//! hundredth off the packed page. Owns that order and the new numbers. Invariant: a function's number changes in every
//! place that says it or in none, and nothing else changes but that their names go, if there are any. Pinned
//! by `tests` below, and by every browser test. Cost: a second, in the build.

use std::collections::{HashMap, VecDeque};

use crate::wasm::{self, Bytes};

/// Functions have as much in common as they have runs of so many bytes.
const RUN: usize = 6;
/// A run that more functions have is everywhere: it is found in any order.
const COMMON: usize = 300;
/// How far back functions are compared, in bytes: with twice as much the page weighs 0.7 kB more, with half 0.2.
const REACH: usize = 16 << 10;
/// Added to the number of a function's runs, lest the smallest come first for a single run in common.
const SMALL: f64 = 20.0;

/// The module with its functions in that order.
pub fn reordered(module: &[u8]) -> Option<Vec<u8>> {
    let sections = wasm::sections(module)?;
    let mut n_imported = 0;
    let mut types = Vec::new();
    let mut bodies = Vec::new();
    for &(id, content) in &sections {
        let mut bytes = Bytes(content);
        match id {
            wasm::IMPORTS => n_imported = imported_functions(&mut bytes)?,
            wasm::FUNCTIONS => {
                for _ in 0..bytes.number()? {
                    types.push(bytes.number()?);
                }
            }
            wasm::CODE => {
                for _ in 0..bytes.number()? {
                    bodies.push(bytes.sized()?);
                }
            }
            _ => {}
        }
    }
    if types.len() != bodies.len() {
        return None;
    }
    let order = by_likeness(&bodies);
    let mut numbers: Vec<u64> = (0..n_imported + bodies.len() as u64).collect();
    for (to, &from) in (n_imported..).zip(&order) {
        numbers[n_imported as usize + from] = to;
    }
    let numbers = Numbers(numbers);

    let mut out = wasm::HEAD.to_vec();
    for (id, content) in sections {
        let mut section = Vec::new();
        match id {
            // The functions' names go by their old numbers, and nothing asks for them.
            0 if Bytes(content).name()? == "name" => continue,
            wasm::FUNCTIONS => {
                wasm::push_number(&mut section, order.len() as u64);
                for &from in &order {
                    wasm::push_number(&mut section, types[from]);
                }
            }
            wasm::EXPORTS => numbers.exports(content, &mut section)?,
            wasm::START => numbers.function(&mut Bytes(content), &mut section)?,
            wasm::ELEMENTS => numbers.elements(content, &mut section)?,
            wasm::CODE => {
                wasm::push_number(&mut section, order.len() as u64);
                for &from in &order {
                    wasm::push_sized(&mut section, &numbers.body(bodies[from])?);
                }
            }
            _ => section.extend_from_slice(content),
        }
        wasm::push_section(&mut out, id, &section);
    }
    Some(out)
}

fn imported_functions(bytes: &mut Bytes) -> Option<u64> {
    let mut n = 0;
    for _ in 0..bytes.number()? {
        bytes.name()?;
        bytes.name()?;
        n += u64::from(bytes.kind()?[0] == 0);
    }
    Some(n)
}

/// The places of these bodies in their new order.
fn by_likeness(bodies: &[&[u8]]) -> Vec<usize> {
    let runs = runs(bodies);
    let mut having: Vec<Vec<usize>> = Vec::new();
    for (at, runs) in runs.iter().enumerate() {
        for &run in runs {
            having.resize(having.len().max(run + 1), Vec::new());
            having[run].push(at);
        }
    }
    having
        .iter_mut()
        .filter(|it| it.len() > COMMON)
        .for_each(Vec::clear);
    // What few functions have is found within reach in few orders: it tells more of where they belong.
    let weight = |run: usize| 1.0 / (having[run].len() as f64).sqrt();

    let mut order = Vec::new();
    let mut left: Vec<usize> = (0..bodies.len()).collect();
    // The functions within reach, their bytes, how many of them have a run, and the weight of what others share
    // with them.
    let mut near = VecDeque::new();
    let mut n_bytes = 0;
    let mut n_near = vec![0; having.len()];
    let mut shared = vec![0.0; bodies.len()];
    let mut next = (0..bodies.len()).max_by_key(|&it| bodies[it].len());
    while let Some(at) = next {
        left.retain(|&it| it != at);
        order.push(at);
        near.push_back(at);
        n_bytes += bodies[at].len();
        for &run in &runs[at] {
            if n_near[run] == 0 {
                having[run].iter().for_each(|&it| shared[it] += weight(run));
            }
            n_near[run] += 1;
        }
        while n_bytes > REACH && near.len() > 1 {
            let Some(far) = near.pop_front() else { break };
            n_bytes -= bodies[far].len();
            for &run in &runs[far] {
                n_near[run] -= 1;
                if n_near[run] == 0 {
                    having[run].iter().for_each(|&it| shared[it] -= weight(run));
                }
            }
        }
        let likeness = |at: usize| shared[at] / (runs[at].len() as f64 + SMALL);
        next = left
            .iter()
            .copied()
            .max_by(|&a, &b| likeness(a).total_cmp(&likeness(b)));
    }
    order
}

/// The different runs of bytes in each body, as numbers.
fn runs(bodies: &[&[u8]]) -> Vec<Vec<usize>> {
    let mut known = HashMap::new();
    let mut numbered = |body: &&[u8]| {
        let mut runs = Vec::new();
        for run in body.windows(RUN) {
            let n_known = known.len();
            runs.push(*known.entry(run.to_vec()).or_insert(n_known));
        }
        runs.sort_unstable();
        runs.dedup();
        runs
    };
    bodies.iter().map(&mut numbered).collect()
}

/// The new number of each function.
struct Numbers(Vec<u64>);

impl Numbers {
    /// Copies the number of a function.
    fn function(&self, bytes: &mut Bytes, out: &mut Vec<u8>) -> Option<()> {
        let old = usize::try_from(bytes.number()?).ok()?;
        wasm::push_number(out, *self.0.get(old)?);
        Some(())
    }

    fn exports(&self, content: &[u8], out: &mut Vec<u8>) -> Option<()> {
        let mut bytes = Bytes(content);
        let n_exports = bytes.number()?;
        wasm::push_number(out, n_exports);
        for _ in 0..n_exports {
            wasm::push_sized(out, bytes.sized()?);
            let kind = bytes.byte()?;
            out.push(kind);
            match kind {
                0 => self.function(&mut bytes, out)?,
                _ => wasm::push_number(out, bytes.number()?),
            }
        }
        Some(())
    }

    /// What stands in the table of functions: from a constant place on, functions by number.
    fn elements(&self, content: &[u8], out: &mut Vec<u8>) -> Option<()> {
        let mut bytes = Bytes(content);
        let n_segments = bytes.number()?;
        wasm::push_number(out, n_segments);
        for _ in 0..n_segments {
            let before = bytes.0;
            if bytes.number()? != 0 {
                return None;
            }
            while self.instruction(&mut bytes, &mut Vec::new())? != END {}
            let n_functions = bytes.number()?;
            out.extend_from_slice(&before[..before.len() - bytes.0.len()]);
            for _ in 0..n_functions {
                self.function(&mut bytes, out)?;
            }
        }
        Some(())
    }

    fn body(&self, body: &[u8]) -> Option<Vec<u8>> {
        let mut bytes = Bytes(body);
        let n_locals = bytes.number()?;
        bytes.skip_numbers(2 * n_locals)?;
        let mut out = body[..body.len() - bytes.0.len()].to_vec();
        while !bytes.0.is_empty() {
            self.instruction(&mut bytes, &mut out)?;
        }
        Some(out)
    }

    /// Copies an instruction, and tells which.
    fn instruction(&self, bytes: &mut Bytes, out: &mut Vec<u8>) -> Option<u8> {
        let whole = bytes.0;
        let code = bytes.byte()?;
        match code {
            // call, return_call, ref.func
            0x10 | 0x12 | 0xd2 => {
                out.push(code);
                self.function(bytes, out)?;
                return Some(code);
            }
            // Blocks, branches, variables, tables, sizes of memory, whole constants, ref.null
            0x02..=0x04 | 0x0c | 0x0d | 0x20..=0x26 | 0x3f..=0x42 | 0xd0 => {
                bytes.skip_numbers(1)?;
            }
            // call_indirect, return_call_indirect, loads and stores
            0x11 | 0x13 | 0x28..=0x3e => bytes.skip_numbers(2)?,
            // br_table
            0x0e => {
                let n = bytes.number()?;
                bytes.skip_numbers(n + 1)?;
            }
            // select of a type
            0x1c => {
                let n = bytes.number()?;
                bytes.skip_numbers(n)?;
            }
            // f32.const, f64.const
            0x43 => {
                bytes.take(4)?;
            }
            0x44 => {
                bytes.take(8)?;
            }
            // Saturating conversions; memory and tables as a whole
            0xfc => match bytes.number()? {
                0..=7 => {}
                9 | 11 | 13 | 15..=17 => bytes.skip_numbers(1)?,
                8 | 10 | 12 | 14 => bytes.skip_numbers(2)?,
                _ => return None,
            },
            // Arithmetic, and what else stands alone
            0x00 | 0x01 | 0x05 | END | 0x0f | 0x1a | 0x1b | 0x45..=0xc4 | 0xd1 => {}
            _ => return None,
        }
        out.extend_from_slice(&whole[..whole.len() - bytes.0.len()]);
        Some(code)
    }
}

const END: u8 = 0x0b;

#[cfg(test)]
mod tests {
    use super::*;

    const CALL: u8 = 0x10;

    fn section(id: u8, content: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        wasm::push_section(&mut out, id, content);
        out
    }

    /// A body of that much arithmetic, which calls a function.
    fn body(arithmetic: u8, times: usize, calls: u8) -> Vec<u8> {
        let arithmetic = [0x41, arithmetic, 0x41, 7, 0x6a, 0x1a].repeat(times);
        [&[1, 2, 0x7f], &arithmetic[..], &[CALL, calls, END]].concat()
    }

    /// A module of one import and four functions: the second and the fourth resemble each other. The type
    /// of a function is ten and its number, so that it can be told from the others afterwards.
    fn module() -> Vec<u8> {
        let bodies = [body(1, 9, 1), body(2, 6, 3), body(1, 3, 0), body(2, 5, 4)];
        let bodies: Vec<u8> = bodies
            .iter()
            .flat_map(|it| [&[it.len() as u8], &it[..]].concat())
            .collect();
        [
            wasm::HEAD.to_vec(),
            section(wasm::IMPORTS, b"\x01\x01m\x01i\x00\x0a"),
            section(wasm::FUNCTIONS, &[4, 11, 12, 13, 14]),
            section(wasm::EXPORTS, b"\x02\x01m\x02\x00\x01b\x00\x02"),
            section(wasm::START, &[3]),
            section(wasm::ELEMENTS, &[1, 0, 0x41, 1, END, 3, 4, 0, 2]),
            section(wasm::CODE, &[&[4], &bodies[..]].concat()),
            section(0, b"\x04name\x00"),
        ]
        .concat()
    }

    #[test]
    fn functions_that_resemble_each_other_follow_one_upon_the_other() {
        let bodies = [body(1, 9, 1), body(2, 6, 3), body(1, 3, 0), body(2, 5, 4)];
        let bodies: Vec<&[u8]> = bodies.iter().map(Vec::as_slice).collect();
        assert_eq!(by_likeness(&bodies), [0, 2, 3, 1]);
    }

    #[test]
    fn whatever_named_a_function_names_the_same_one() {
        let module = reordered(&module()).expect("a module");
        let sections = wasm::sections(&module).expect("a module");
        let find = |wanted: u8| sections.iter().find(|(id, _)| *id == wanted).map(|it| it.1);
        let types = find(wasm::FUNCTIONS).expect("functions");
        assert_eq!(types, [4, 11, 13, 14, 12]);
        let type_of = |number: u8| [&[10], &types[1..]].concat()[usize::from(number)];

        assert_eq!(type_of(find(wasm::START).expect("a start")[0]), 13);
        let exports = find(wasm::EXPORTS).expect("exports");
        assert_eq!(exports[..8], *b"\x02\x01m\x02\x00\x01b\x00");
        assert_eq!(type_of(exports[8]), 12);
        let table = find(wasm::ELEMENTS).expect("elements");
        assert_eq!(table[..6], [1, 0, 0x41, 1, END, 3]);
        assert_eq!([6, 7, 8].map(|at| type_of(table[at])), [14, 10, 12]);

        let mut code = Bytes(find(wasm::CODE).expect("code"));
        let n_bodies = code.number().expect("a number") as u8;
        let called: Vec<[u8; 2]> = (1..=n_bodies)
            .map(|number| {
                let body = code.sized().expect("a body");
                assert_eq!(body[body.len() - 3], CALL);
                [type_of(number), type_of(body[body.len() - 2])]
            })
            .collect();
        assert_eq!(called, [[11, 11], [13, 10], [14, 14], [12, 13]]);
        assert!(find(0).is_none());
    }

    #[test]
    fn what_is_no_module_is_refused() {
        let whole = module();
        for cut in 0..whole.len() {
            // A module may end after any section, but not between the types of functions and their code.
            let reordered = reordered(&whole[..cut]);
            assert!(
                reordered.is_none_or(|it| it.len() < 30 || cut > whole.len() - 10),
                "{cut}"
            );
        }
        let mut unknown = whole;
        let at = unknown.iter().rposition(|&it| it == CALL).expect("a call");
        unknown[at] = 0xfd;
        assert!(reordered(&unknown).is_none());
    }
}
