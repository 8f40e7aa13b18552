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
    let fit = |code: &str| format!("{code}: It does not fit");
    let shown = ["placet.no_place", "placet.no_room", "placet.no_room"].map(fit);
    assert_eq!(reasons.short(), shown.join("; "));
}

#[test]
fn found_u5_the_log_says_class_amounts_and_provider_of_a_refusal() {
    let of_host = Reason {
        resource_provider: Some("a000".to_owned()),
        provider_name: Some("host1".into()),
        resource_class: Some("VCPU".to_owned()),
        requested: Some(6),
        free: Some(4),
        ..reason(ReasonCode::NoRoom)
    };
    let mut reasons = Reasons::from(of_host.clone());
    assert_eq!(
        reasons.short(),
        "placet.no_room VCPU on host1 (a000): 6 requested, 4 free"
    );
    let unnamed = Reason {
        provider_name: None,
        free: None,
        ..of_host.clone()
    };
    assert_eq!(
        Reasons::from(unnamed).short(),
        "placet.no_room VCPU on a000: 6 requested"
    );
    let of_many = Reason {
        resource_provider: None,
        detail: "200 resource providers have too little room for VCPU.".to_owned(),
        ..of_host
    };
    reasons.add_counted(of_many, 200);
    reasons.add(reason(ReasonCode::State));
    assert_eq!(
        reasons.short(),
        "placet.no_room VCPU on host1 (a000): 6 requested, 4 free; placet.no_room: 200 resource providers have too \
         little room for VCPU: 6 requested, 4 free; placet.state: It does not fit"
    );
}

#[test]
fn the_sentences_of_a_query_without_a_candidate_are_said_once() {
    let of = |code, detail: &str| Reason::new(code, detail.to_owned());
    let part = "2 hosts are too small: 9 requested, at most 8.";
    let whole = format!("No host can serve the query. {part} 2 hosts are off.");
    let too_small = Reason {
        requested: Some(9),
        free: Some(8),
        ..of(ReasonCode::NoRoom, part)
    };
    let off = of(ReasonCode::State, "2 hosts are off.");
    let whole_reason = || of(ReasonCode::NoCandidate, &whole);
    let parts = [(too_small.clone(), 2), (off, 2)];
    let shown = |said, (count, bytes)| {
        let reasons = Reasons::of_whole(whole_reason(), said, parts.clone());
        reasons.shortened(count, bytes).short()
    };
    let all = format!("placet.no_candidate: {}", whole.trim_end_matches('.'));
    for (said, count, shown_after) in [
        (1, 3, "; placet.state: 2 hosts are off"),
        (1, 2, "; 1 more reasons"),
        (1, 1, "; 1 more reasons"),
        (2, 3, ""),
        (2, 2, ""),
        (2, 1, ""),
    ] {
        assert_eq!(
            shown(said, (count, 500)),
            format!("{all}{shown_after}"),
            "{said} {count}"
        );
    }
    let cut = |count| shown(2, (count, 30));
    let first = "placet.no_candidate: No host can serve the query. 2";
    let second = "placet.no_room: 2 hosts are too small: 9 reque: 9 requested, 8 free";
    assert_eq!(cut(3), format!("{first}; {second}; placet.state: 2 hosts are off"));
    assert_eq!(cut(2), format!("{first}; {second}; 1 more reasons"));
    assert_eq!(cut(1), format!("{first}; 2 more reasons"));
    let reasons = Reasons::of_whole(whole_reason(), 4, [(too_small, 2)]);
    assert_eq!(
        reasons.short(),
        format!("placet.no_candidate: {}", whole.trim_end_matches('.'))
    );
    let refusal = ClaimRefusal {
        consumers: vec![RefusedConsumer {
            consumer: "a".to_owned(),
            reasons,
        }],
    };
    assert!(
        refusal.to_string().ends_with(&format!("Consumer a: {whole}")),
        "{refusal}"
    );
}

#[test]
fn found_u5_the_log_counts_the_reasons_that_it_does_not_show() {
    let mut reasons = Reasons::from(reason(ReasonCode::NoCandidate));
    reasons.add_counted(reason(ReasonCode::NoRoom), 200);
    reasons.add_counted(reason(ReasonCode::State), 2);
    assert!(!reasons.short().contains("more reasons"), "{}", reasons.short());
    reasons.add_counted(reason(ReasonCode::Units), 7);
    assert!(reasons.short().ends_with("; 1 more reasons"), "{}", reasons.short());
    for _ in 0..20 {
        if !reasons.count_unkept(ReasonCode::NoInventory) {
            reasons.add(reason(ReasonCode::NoInventory));
        }
    }
    assert!(reasons.short().ends_with("; 21 more reasons"), "{}", reasons.short());
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
    // A stale consumer decides the code of the refusal.
    refusal.consumers[2] = of("c", reason(ReasonCode::ConcurrentUpdate).into());
    let text = refusal.to_string();
    assert!(text.ends_with("Consumer c: It does not fit."), "{text}");
    assert!(refusal.short().starts_with("consumer c: "), "{}", refusal.short());
}

#[test]
fn the_shortened_reasons_have_the_first_texts_and_all_counts() {
    let mut reasons = Reasons::default();
    for code in [ReasonCode::NoRoom, ReasonCode::Units, ReasonCode::Traits] {
        reasons.add_counted(Reason::new(code, "é".repeat(1_000)), 7);
    }
    let shortened = reasons.shortened(2, 101);
    let details: Vec<usize> = shortened.kept().iter().map(|reason| reason.detail.len()).collect();
    assert_eq!(details, [100, 100]);
    assert!(shortened.counts().eq(reasons.counts()));
    assert!(shortened.short().ends_with("; 1 more reasons"));
}
