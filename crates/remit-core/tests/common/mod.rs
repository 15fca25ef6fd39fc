//! What the property tests share: small worlds are enumerated, large ones drawn from seeds that are printed.
#![allow(dead_code)] // each test file uses its part

/// A deterministic generator (splitmix64).
pub struct Draw(u64);

impl Draw {
    pub fn new(seed: u64) -> Self {
        Draw(seed)
    }

    /// A number below `bound`, which is not 0.
    pub fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((z ^ (z >> 31)) % bound as u64).unwrap_or(0)
    }

    pub fn of<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())]
    }
}

/// Calls `check` with one generator per seed. The last seed printed is the one that failed: `REMIT_SEED=n` replays it.
pub fn for_seeds(count: u64, check: impl Fn(&mut Draw)) {
    let only = std::env::var("REMIT_SEED")
        .ok()
        .and_then(|s| s.parse().ok());
    let seeds = match only {
        Some(seed) => seed..=seed,
        None => 1..=count,
    };
    for seed in seeds {
        println!("REMIT_SEED={seed}");
        check(&mut Draw::new(seed));
    }
}

/// All sequences of up to `most` items.
pub fn sequences<T: Copy>(items: &[T], most: usize) -> Vec<Vec<T>> {
    let mut all: Vec<Vec<T>> = vec![Vec::new()];
    let mut last = all.clone();
    for _ in 0..most {
        last = last
            .iter()
            .flat_map(|s| {
                items.iter().map(move |i| {
                    let mut longer = s.clone();
                    longer.push(*i);
                    longer
                })
            })
            .collect();
        all.extend(last.iter().cloned());
    }
    all
}

/// All orders of the items.
pub fn orders<T: Copy>(items: &[T]) -> Vec<Vec<T>> {
    if items.is_empty() {
        return vec![Vec::new()];
    }
    let mut all = Vec::new();
    for i in 0..items.len() {
        let mut rest = items.to_vec();
        let first = rest.remove(i);
        for mut order in orders(&rest) {
            order.insert(0, first);
            all.push(order);
        }
    }
    all
}

pub const BOTH: [bool; 2] = [false, true];
