//! A column of a table: one thing of every row.
//!
//! Owns what happens at an index outside of it: the program stops here, in one place for all columns. A
//! vector's index stops it where the index stands, and brings along the name, the line and the column of each
//! of those places, some hundreds of them: a hundredth of the page. Costs what a vector costs.

use std::ops::{Deref, DerefMut, Index, IndexMut};
use std::slice::SliceIndex;

/// A vector with another index.
#[derive(Clone, Debug)]
pub struct Column<T>(Vec<T>);

impl<T: Clone> Column<T> {
    /// The same for so many rows.
    pub fn of(value: T, n_rows: usize) -> Column<T> {
        Column(vec![value; n_rows])
    }
}

impl<T> Column<T> {
    /// How many bytes it takes, those included that it has taken to grow.
    pub fn bytes(&self) -> usize {
        self.0.capacity() * size_of::<T>()
    }
}

impl<T, I: SliceIndex<[T]>> Index<I> for Column<T> {
    type Output = I::Output;

    #[inline(always)]
    fn index(&self, at: I) -> &I::Output {
        at_place(&self.0, at)
    }
}

impl<T, I: SliceIndex<[T]>> IndexMut<I> for Column<T> {
    #[inline(always)]
    fn index_mut(&mut self, at: I) -> &mut I::Output {
        at_place_mut(&mut self.0, at)
    }
}

/// `Index::index` hands on the place that it is called from, by its declaration; this does not, and is the one
/// place that is named.
#[inline(always)]
fn at_place<T, I: SliceIndex<[T]>>(all: &[T], at: I) -> &I::Output {
    &all[at]
}

#[inline(always)]
fn at_place_mut<T, I: SliceIndex<[T]>>(all: &mut [T], at: I) -> &mut I::Output {
    &mut all[at]
}

impl<T> Deref for Column<T> {
    type Target = Vec<T>;

    #[inline(always)]
    fn deref(&self) -> &Vec<T> {
        &self.0
    }
}

impl<T> DerefMut for Column<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut Vec<T> {
        &mut self.0
    }
}

impl<T> AsRef<[T]> for Column<T> {
    fn as_ref(&self) -> &[T] {
        &self.0
    }
}

impl<T: PartialEq, A: AsRef<[T]>> PartialEq<A> for Column<T> {
    fn eq(&self, other: &A) -> bool {
        self.0 == other.as_ref()
    }
}

impl<T> Default for Column<T> {
    fn default() -> Column<T> {
        Column(Vec::new())
    }
}

impl<T> From<Vec<T>> for Column<T> {
    fn from(all: Vec<T>) -> Column<T> {
        Column(all)
    }
}

impl<T> FromIterator<T> for Column<T> {
    fn from_iter<A: IntoIterator<Item = T>>(all: A) -> Column<T> {
        Column(all.into_iter().collect())
    }
}

impl<'a, T> IntoIterator for &'a Column<T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;

    fn into_iter(self) -> std::slice::Iter<'a, T> {
        self.0.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_is_indexed_as_a_vector_is() {
        let mut column = Column::of(1, 2);
        column[1] = 2;
        column.push(3);
        assert_eq!(column, [1, 2, 3]);
        assert_eq!((column[2], &column[1..]), (3, &[2, 3][..]));
    }

    #[test]
    #[should_panic(expected = "the len is 0 but the index is 0")]
    fn an_index_outside_of_it_stops() {
        Column::<u8>::default()[0] = 1;
    }
}
