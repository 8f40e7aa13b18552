//! The score of a ranked candidate, and the numbers behind the score.

use crate::search::{CandidateLoad, Scored, Slot, Snapshot};
use crate::wire::output::{Out, append, separate};
use crate::wire::provider_texts::ProviderTexts;
use crate::wire::quoted::QuotedNames;

/// Adds `score` and `loads` to the last written candidate.
pub fn add(out: &mut Vec<u8>, snapshot: &Snapshot, scored: &Scored) {
    // The end of the candidate's object comes after the score and the loads.
    out.pop();
    append(out, r#","score":"#, &scored.score);
    out.extend_from_slice(br#","loads":{"#);
    let mut begun = false;
    for (at, load) in scored.loads.iter().enumerate() {
        if scored.loads[..at].iter().any(|earlier| earlier.slot == load.slot) {
            continue;
        }
        separate(out, &mut begun);
        out.extend_from_slice(ProviderTexts::uuid(snapshot, load.slot));
        out.extend_from_slice(b":{");
        add_classes(out, QuotedNames::of(snapshot.catalog()), &scored.loads[at..], load.slot);
        out.push(b'}');
    }
    out.extend_from_slice(b"}}");
}

/// The classes of a provider.
fn add_classes(out: &mut Vec<u8>, names: &QuotedNames, loads: &[CandidateLoad], slot: Slot) {
    let mut begun = false;
    for load in loads.iter().filter(|load| load.slot == slot) {
        if let Some(name) = names.of_class(load.class) {
            separate(out, &mut begun);
            out.extend_from_slice(name);
            out.extend_from_slice(br#":{"used":"#);
            out.digits(load.used);
            out.extend_from_slice(br#","capacity":"#);
            out.digits(load.limit);
            out.push(b'}');
        }
    }
}
