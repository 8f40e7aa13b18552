//! The tokens that were validated a short time ago, by their SHA-256, so that no token is a key in memory.
//!
//! All entries live equally long, so the oldest entry is the first to expire, and the first to go if the cache is full.
//! The cache has shards with a mutex each, which is held for a single look-up.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::statistics::KeystoneStatistics;
use super::token::ValidToken;
use crate::auth::tokens::TokenHash;

const SHARDS: usize = 16;
/// Some tens of megabytes of tokens with a handful of roles each.
pub const MAX_TOKENS: usize = 65_536;

pub struct TokenCache {
    shards: [Mutex<CacheShard>; SHARDS],
    lifetime: Duration,
    statistics: Arc<KeystoneStatistics>,
}

#[derive(Default)]
struct CacheShard {
    tokens: HashMap<TokenHash, CachedToken>,
    /// In the order in which the entries expire. A replaced entry is here twice.
    order: VecDeque<(Instant, TokenHash)>,
}

struct CachedToken {
    token: Arc<ValidToken>,
    until: Instant,
}

impl TokenCache {
    /// A cache whose entries live for `lifetime`; zero: a cache that keeps nothing.
    pub fn new(lifetime: Duration, statistics: Arc<KeystoneStatistics>) -> TokenCache {
        TokenCache {
            shards: Default::default(),
            lifetime,
            statistics,
        }
    }

    /// The token, if it was validated within the lifetime of an entry. The token may have expired since.
    pub fn get(&self, hash: &TokenHash, now: Instant) -> Option<Arc<ValidToken>> {
        let shard = self.shard(hash);
        let entry = shard.tokens.get(hash).filter(|entry| now < entry.until)?;
        Some(Arc::clone(&entry.token))
    }

    pub fn insert(&self, hash: TokenHash, token: Arc<ValidToken>, now: Instant) {
        if self.lifetime.is_zero() {
            return;
        }
        let until = now + self.lifetime;
        let mut shard = self.shard(&hash);
        let before = shard.tokens.len();
        shard.tokens.insert(hash, CachedToken { token, until });
        shard.order.push_back((until, hash));
        let added = shard.tokens.len() - before;
        let (aged, displaced) = shard.remove_old(now);
        drop(shard);
        self.statistics.count_cached(added, aged, displaced);
    }

    fn shard(&self, hash: &TokenHash) -> MutexGuard<'_, CacheShard> {
        let shard = &self.shards[usize::from(hash[0]) % SHARDS];
        // After a panic a shard is still usable: at worst an entry is missing from the order, and still expires.
        shard.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CacheShard {
    /// Removes the entries whose lifetime is over, and the oldest entries beyond the limit. Returns the two numbers.
    fn remove_old(&mut self, now: Instant) -> (usize, usize) {
        let (mut aged, mut displaced) = (0, 0);
        while let Some((until, hash)) = self.order.front().copied() {
            if until > now && self.order.len() <= MAX_TOKENS / SHARDS {
                break;
            }
            self.order.pop_front();
            // The newer entry of a replaced token comes later in the order.
            if self.tokens.get(&hash).is_some_and(|entry| entry.until == until) {
                self.tokens.remove(&hash);
                if until <= now {
                    aged += 1;
                } else {
                    displaced += 1;
                }
            }
        }
        (aged, displaced)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::keystone::statistics::Eviction;
    use crate::auth::keystone::tests::valid_token;
    use crate::auth::tokens;

    fn cache(lifetime: Duration) -> (TokenCache, Arc<KeystoneStatistics>) {
        let statistics = Arc::<KeystoneStatistics>::default();
        (TokenCache::new(lifetime, Arc::clone(&statistics)), statistics)
    }

    const LIFETIME: Duration = Duration::from_secs(300);

    /// A second token of the same shard.
    fn other_of_shard(hash: &TokenHash) -> TokenHash {
        let others = (0..1_000).map(|number| tokens::hash(&number.to_string()));
        let mut others = others.filter(|other| usize::from(other[0]) % SHARDS == usize::from(hash[0]) % SHARDS);
        others.next().expect("a token of the shard")
    }

    #[test]
    fn a_token_leaves_the_cache_after_its_lifetime() {
        let (cache, statistics) = cache(LIFETIME);
        let (hash, now) = (tokens::hash("a"), Instant::now());
        cache.insert(hash, valid_token("user"), now);
        let almost = now + LIFETIME - Duration::from_millis(1);
        assert!(cache.get(&hash, almost).is_some() && cache.get(&tokens::hash("b"), now).is_none());
        assert!(cache.get(&hash, now + LIFETIME).is_none());
        let other = other_of_shard(&hash);
        cache.insert(other, valid_token("user"), now + LIFETIME);
        assert_eq!((statistics.cached_tokens(), statistics.evicted(Eviction::Aged)), (1, 1));
    }

    #[test]
    fn the_cache_is_bounded_and_drops_the_oldest() {
        let (cache, statistics) = cache(LIFETIME);
        let hash = |number: usize| tokens::hash(&number.to_string());
        let now = Instant::now();
        for number in 0..2 * MAX_TOKENS {
            cache.insert(hash(number), valid_token("user"), now);
        }
        let cached = statistics.cached_tokens();
        assert!(
            cached <= MAX_TOKENS as u64 && cached > MAX_TOKENS as u64 / 2,
            "{cached}"
        );
        assert!(cache.get(&hash(0), now).is_none() && cache.get(&hash(2 * MAX_TOKENS - 1), now).is_some());
        let held: usize = cache
            .shards
            .iter()
            .map(|shard| shard.lock().expect("a shard").tokens.len())
            .sum();
        assert_eq!(held as u64, cached);
        let displaced = statistics.evicted(Eviction::Full);
        assert_eq!(
            (displaced, statistics.evicted(Eviction::Aged)),
            (2 * MAX_TOKENS as u64 - cached, 0)
        );
    }

    #[test]
    fn a_token_that_is_validated_again_lives_on() {
        let (cache, statistics) = cache(LIFETIME);
        let (hash, now) = (tokens::hash("a"), Instant::now());
        cache.insert(hash, valid_token("user"), now);
        cache.insert(hash, valid_token("user"), now + LIFETIME / 2);
        // A second token comes after the first entry has expired, and so removes only the first entry.
        cache.insert(other_of_shard(&hash), valid_token("user"), now + LIFETIME);
        assert!(cache.get(&hash, now + LIFETIME).is_some());
        assert_eq!((statistics.cached_tokens(), statistics.evicted(Eviction::Aged)), (2, 0));
    }

    #[test]
    fn without_a_lifetime_nothing_is_kept() {
        let (cache, _) = cache(Duration::ZERO);
        let hash = tokens::hash("a");
        cache.insert(hash, valid_token("user"), Instant::now());
        assert!(cache.get(&hash, Instant::now()).is_none());
    }
}
