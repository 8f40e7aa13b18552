//! The path from a request to a member, such as `consumers[0].query`. A path grows from the member to the root.

use std::fmt::{self, Display, Formatter};

use super::cut::cut_at;

/// The maximum length of a name in a path, and of a value in a refusal: a request of megabytes is not sent back.
pub const MAX_GIVEN_BYTES: usize = 256;

/// The path to a member; empty for the request itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemberPath(String);

impl MemberPath {
    /// The path of a member of the request.
    pub fn of(name: &str) -> MemberPath {
        MemberPath::default().in_member(name)
    }

    /// The path below a member of an object.
    pub fn in_member(self, name: &str) -> MemberPath {
        let name = match name {
            "" => "\"\"".to_owned(),
            name => cut_at(name.replace('\0', "\\0"), MAX_GIVEN_BYTES),
        };
        self.below(&name)
    }

    /// The path below an item of a list.
    pub fn in_item(self, at: usize) -> MemberPath {
        self.below(&format!("[{at}]"))
    }

    /// The path with a suffix after the last name.
    pub fn with_suffix(self, suffix: &str) -> MemberPath {
        MemberPath(self.0 + suffix)
    }

    fn below(self, step: &str) -> MemberPath {
        let is_joined = self.is_root() || self.0.starts_with('[');
        let separator = if is_joined { "" } else { "." };
        MemberPath(format!("{step}{separator}{self}"))
    }

    /// The refusal of a repeated member or parameter.
    pub fn occurs_again(&self) -> String {
        format!("{self} occurs more than once; once is allowed.")
    }

    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }
}

impl Display for MemberPath {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}
