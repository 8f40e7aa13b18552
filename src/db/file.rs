//! The file of an embedded database, and the write-ahead log beside the file. A database on a server has neither.

mod backup;
mod close;
mod damage;
pub mod guard;
mod header;
pub mod inode_lock;
pub mod log_record;
mod log_tie;
pub mod paths;
mod restore;
