//! The rules of resource classes. Standard classes never change, and a class with an inventory cannot be deleted.

use super::Rules;
use crate::error::{Error, Result};
use crate::model::batch::command::{Ensured, Write};
use crate::model::batch::footprint::Footprint;
use crate::model::batch::state::State;
use crate::model::resource_classes::{Create, Delete, Ensure, Rename};
use crate::model::standard::FIRST_CUSTOM_CLASS;
use crate::search::ClassId;

/// `POST /resource_classes`.
impl Write for Create {
    type Answer = ();

    fn add_to<'a>(&'a self, _: &mut Footprint<'a>) {}

    fn decide(&self, state: &mut State, _: &Rules) -> Result<()> {
        if state.class_id(&self.name).is_some() {
            return Err(Error::ClassExists {
                name: self.name.clone(),
            });
        }
        state.add_class(&self.name);
        Ok(())
    }
}

/// `PUT /resource_classes/{name}` from 1.7: creates the class unless the class exists.
impl Write for Ensure {
    type Answer = Ensured;

    fn add_to<'a>(&'a self, _: &mut Footprint<'a>) {}

    fn decide(&self, state: &mut State, _: &Rules) -> Result<Ensured> {
        let created = state.class_id(&self.name).is_none();
        if created {
            state.add_class(&self.name);
        }
        Ok(Ensured {
            created,
            since: state.now,
        })
    }
}

/// `PUT /resource_classes/{name}` before 1.7: renames the class.
impl Write for Rename {
    type Answer = ();

    fn add_to<'a>(&'a self, footprint: &mut Footprint<'a>) {
        footprint.removed_classes.push(&self.from);
    }

    fn decide(&self, state: &mut State, _: &Rules) -> Result<()> {
        let id = find(state, &self.from)?;
        if is_standard(id) {
            return Err(Error::CannotUpdateStandardClass {
                name: self.from.clone(),
            });
        }
        if state.class_id(&self.to).is_some_and(|other| other != id) {
            return Err(Error::ClassExistsForRename { name: self.to.clone() });
        }
        state.set_class(id, Some(&self.to));
        Ok(())
    }
}

/// `DELETE /resource_classes/{name}`.
impl Write for Delete {
    type Answer = ();

    fn add_to<'a>(&'a self, footprint: &mut Footprint<'a>) {
        footprint.removed_classes.push(&self.name);
    }

    fn decide(&self, state: &mut State, _: &Rules) -> Result<()> {
        let id = find(state, &self.name)?;
        if is_standard(id) {
            return Err(Error::CannotDeleteStandardClass {
                name: self.name.clone(),
            });
        }
        if state.class_in_use(id) {
            return Err(Error::ClassInUse {
                name: self.name.clone(),
            });
        }
        state.set_class(id, None);
        Ok(())
    }
}

fn find(state: &State, name: &str) -> Result<ClassId> {
    state
        .class_id(name)
        .ok_or_else(|| Error::ClassNotFound { name: name.to_owned() })
}

fn is_standard(id: ClassId) -> bool {
    id.0 < FIRST_CUSTOM_CLASS
}
