//! The rules of resource classes. Standard classes never change, and a class with an inventory cannot be deleted.

use crate::error::{Error, Result};
use crate::model::batch::command::{Answer, Ensured};
use crate::model::batch::state::State;
use crate::model::resource_classes::{Create, Delete, Ensure, Rename};
use crate::model::standard::FIRST_CUSTOM_CLASS;
use crate::search::ClassId;

/// `POST /resource_classes`.
pub fn create(state: &mut State, create: &Create) -> Result<()> {
    if state.class_id(&create.name).is_some() {
        return Err(Error::ClassExists {
            name: create.name.clone(),
        });
    }
    state.add_class(&create.name);
    Ok(())
}

/// `PUT /resource_classes/{name}` from 1.7: creates the class unless the class exists.
pub fn ensure(state: &mut State, ensure: &Ensure) -> Answer {
    let created = state.class_id(&ensure.name).is_none();
    if created {
        state.add_class(&ensure.name);
    }
    Answer::Ensured(Ensured {
        created,
        since: state.now,
    })
}

/// `PUT /resource_classes/{name}` before 1.7: renames the class.
pub fn rename(state: &mut State, rename: &Rename) -> Result<()> {
    let id = find(state, &rename.from)?;
    if is_standard(id) {
        return Err(Error::CannotUpdateStandardClass {
            name: rename.from.clone(),
        });
    }
    if state.class_id(&rename.to).is_some_and(|other| other != id) {
        return Err(Error::ClassExistsForRename {
            name: rename.to.clone(),
        });
    }
    state.set_class(id, Some(&rename.to));
    Ok(())
}

/// `DELETE /resource_classes/{name}`.
pub fn delete(state: &mut State, delete: &Delete) -> Result<()> {
    let id = find(state, &delete.name)?;
    if is_standard(id) {
        return Err(Error::CannotDeleteStandardClass {
            name: delete.name.clone(),
        });
    }
    if state.class_in_use(id) {
        return Err(Error::ClassInUse {
            name: delete.name.clone(),
        });
    }
    state.set_class(id, None);
    Ok(())
}

fn find(state: &State, name: &str) -> Result<ClassId> {
    state
        .class_id(name)
        .ok_or_else(|| Error::ClassNotFound { name: name.to_owned() })
}

fn is_standard(id: ClassId) -> bool {
    id.0 < FIRST_CUSTOM_CLASS
}
