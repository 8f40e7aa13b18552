//! Reasons are kept by code, counted, and shown as one sentence.

use super::*;

fn reason(code: ReasonCode) -> Reason {
    Reason::new(code, "It does not fit.".to_owned())
}

#[test]
fn of_each_code_fifteen_reasons_are_kept_and_all_are_counted() {
    let mut reasons = Reasons::default();
    for _ in 0..40 {
        reasons.add(reason(ReasonCode::NoRoom));
    }
    reasons.add(reason(ReasonCode::Units));
    assert_eq!(reasons.kept().len(), 16);
    let counts: Vec<_> = reasons.counts().collect();
    assert_eq!(counts, [(ReasonCode::NoRoom, 40), (ReasonCode::Units, 1)]);
}

#[test]
fn hostile_12_a_reason_that_is_not_kept_is_not_made() {
    let (mut reasons, mut made) = (Reasons::default(), 0);
    for _ in 0..1_000 {
        if !reasons.count_unkept(ReasonCode::NoRoom) {
            made += 1;
            reasons.add(reason(ReasonCode::NoRoom));
        }
    }
    assert_eq!((made, reasons.kept().len()), (15, 15));
    assert!(reasons.counts().eq([(ReasonCode::NoRoom, 1_000)]));
}

#[test]
fn what_explains_other_reasons_is_kept_and_not_counted() {
    let mut reasons = Reasons::from(reason(ReasonCode::NoPlace));
    reasons.add_detail(reason(ReasonCode::NoRoom));
    reasons.add_detail(reason(ReasonCode::NoRoom));
    assert_eq!(reasons.kept().len(), 3);
    assert!(reasons.counts().eq([(ReasonCode::NoPlace, 1)]));
    assert!(reasons.has(ReasonCode::NoRoom) && !reasons.has(ReasonCode::Units));
    assert_eq!(reasons.short(), "placet.no_place; placet.no_room; placet.no_room");
}

#[test]
fn the_sentence_names_the_first_refused_consumer() {
    let of = |consumer: &str, reasons| RefusedConsumer {
        consumer: consumer.to_owned(),
        reasons,
    };
    let mut refusal = ClaimRefusal {
        consumers: vec![
            of("a", Reasons::default()),
            of("b", reason(ReasonCode::NoRoom).into()),
            of("c", reason(ReasonCode::NoRoom).into()),
            of("d", reason(ReasonCode::OtherRefused).into()),
        ],
    };
    assert_eq!(
        refusal.to_string(),
        "2 of 4 consumers cannot be placed, so nothing was claimed. Consumer b: It does not fit."
    );
    assert!(!refusal.is_stale());
    // A stale one decides the code of the refusal.
    refusal.consumers[2] = of("c", reason(ReasonCode::ConcurrentUpdate).into());
    let text = refusal.to_string();
    assert!(text.ends_with("Consumer c: It does not fit."), "{text}");
    assert!(refusal.short().starts_with("consumer c: "), "{}", refusal.short());
}
