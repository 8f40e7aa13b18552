//! The route table: every URL that placet answers, since which version, and who may.

use super::root;
use super::route::{Guard, Route};

/// Makes of an async function a handler that the table can hold.
macro_rules! run {
    ($handler:path) => {
        |call| Box::pin($handler(call))
    };
}

/// Every route. Within one path, methods stand in the order in which `Allow` names them.
pub static ROUTES: &[Route] = &[
    Route::get("/", Guard::Open, run!(root::show)).bare(),
    Route::get("", Guard::Open, run!(root::show)).bare(),
];
