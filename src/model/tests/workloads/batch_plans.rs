//! Workloads written without a read of a row.

use super::*;
use crate::db::writer::BatchCommand;
use crate::model::batch::command::Write;
use crate::model::workloads::Planned;

#[actix_web::test]
async fn a_new_workload_is_planned_before_its_transaction_and_a_known_one_is_not() {
    let f = cluster(&SITES).await;
    let plannable = std::cell::Cell::new(None);
    let search = async |job: PlanJob| -> Result<Planned> {
        let planned = job.run(&Interrupt::default())?;
        plannable.set(Some(planned.set.clone().into_command().is_plannable()));
        Ok(planned)
    };
    let settings = SearchSettings::uncut(7);
    let place = async |put: Put| {
        put_with(&f.model, put, (&settings, &caller()), search)
            .await
            .map(|_| plannable.take())
    };
    assert_eq!(place(put(WORKLOAD, None, spec(3, None))).await.unwrap(), Some(true));
    assert_eq!(place(put(WORKLOAD, Some(1), spec(4, None))).await.unwrap(), Some(false));
    // The plan does not know whether the consumer of a pending replica exists.
    let mut some = put(WORKLOAD + 1, None, spec(7, None));
    some.is_atomic = false;
    assert_eq!(place(some).await.unwrap(), Some(false));
    // The rows refuse a name that the plan does not read.
    let mut same_name = put(WORKLOAD + 2, None, spec(1, None));
    same_name.name = format!("workload-{WORKLOAD}");
    let refused = place(same_name).await.unwrap_err();
    assert!(matches!(refused, Error::DuplicateWorkload { .. }), "{refused:?}");
}
