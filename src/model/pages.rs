//! The end of a page: by the number of its items, or by the length of the items.

use std::time::Duration;

/// After this time, a page of judged workloads ends with the current workload, because other requests need the threads
/// that search.
pub const PAGE_TIME: Duration = Duration::from_secs(2);
/// The length at which a page ends, in bytes. The last item of a page may exceed the length.
pub const PAGE_BYTES: usize = 4 << 20;

/// The first of `items` that make a page, and whether there are more items. A page has at most `limit` items, and ends
/// with the item that brings the page to [`PAGE_BYTES`].
pub fn cut<T>(mut items: Vec<T>, limit: usize, bytes: impl Fn(&T) -> usize) -> (Vec<T>, bool) {
    let mut before = 0;
    let fits = |item: &&T| {
        let is_begun = before < PAGE_BYTES;
        before += bytes(item);
        is_begun
    };
    let count = items.iter().take(limit).take_while(fits).count();
    let has_more = items.len() > count;
    items.truncate(count);
    (items, has_more)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_ends_with_the_item_that_reaches_its_length_or_its_number() {
        let half = PAGE_BYTES / 2;
        for (items, limit, kept, has_more) in [
            (vec![half, half, 1], 9, 2, true),
            (vec![half - 1, half, 1, 1], 9, 3, true),
            (vec![9 * PAGE_BYTES, 1], 9, 1, true),
            (vec![1, 1, 1], 2, 2, true),
            (vec![1, 1], 2, 2, false),
            (vec![], 2, 0, false),
        ] {
            let (page, more) = cut(items.clone(), limit, |bytes| *bytes);
            assert_eq!((page.len(), more), (kept, has_more), "{items:?}, {limit}");
        }
    }
}
