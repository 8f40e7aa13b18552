//! What the commands of a batch name, so that it can be read for all of them together.

use std::collections::BTreeSet;

use super::allocations::ConsumerClaim;
use super::command::Command;
use super::resource_providers::NewParent;

/// What the commands of a batch name.
#[derive(Debug, Default)]
pub struct Named<'a> {
    pub consumers: BTreeSet<&'a str>,
    /// Uuids of providers.
    pub providers: BTreeSet<&'a str>,
    /// Those of them whose roots are named too.
    pub parents: BTreeSet<&'a str>,
    /// Those of them whose whole trees are.
    pub trees: BTreeSet<&'a str>,
    /// Names that providers are to get.
    pub names: BTreeSet<&'a str>,
    /// Classes of claims.
    pub classes: BTreeSet<&'a str>,
    /// Traits that are to be made or given.
    pub traits: BTreeSet<&'a str>,
    /// Classes that are to be deleted, or renamed: a later command of the batch may mean one by its new name.
    pub going_classes: Vec<&'a str>,
    pub going_traits: Vec<&'a str>,
    /// Whether anything but claims and releases is among the commands.
    pub beyond_claims: bool,
    /// Whether anything but these and what is done to inventories is.
    pub beyond_inventories: bool,
}

impl<'a> Named<'a> {
    pub fn of(commands: &[&'a Command]) -> Named<'a> {
        let mut named = Named::default();
        for command in commands {
            named.add(command);
        }
        named
    }

    fn add(&mut self, command: &'a Command) {
        match command {
            Command::Claim(claim) => self.add_claims(&claim.consumers),
            Command::Release(it) => {
                self.consumers.insert(&it.consumer);
            }
            other => {
                self.beyond_claims = true;
                self.beyond_inventories |= !is_about_inventories(other);
                self.add_rarer(other);
            }
        }
    }

    fn add_claims(&mut self, consumers: &'a [ConsumerClaim]) {
        for one in consumers {
            self.consumers.insert(&one.consumer);
            for (provider, resources) in &one.allocations {
                self.providers.insert(provider);
                self.classes.extend(resources.iter().map(|(class, _)| class.as_str()));
            }
        }
    }

    fn add_rarer(&mut self, command: &'a Command) {
        match command {
            Command::CreateProvider(it) => {
                self.providers.insert(&it.uuid);
                self.providers.extend(it.parent.as_deref());
                self.parents.extend(it.parent.as_deref());
                self.names.insert(&it.name);
            }
            Command::UpdateProvider(it) => {
                self.providers.insert(&it.uuid);
                self.trees.insert(&it.uuid);
                self.names.insert(&it.name);
                if let NewParent::Set(parent) = &it.parent {
                    self.providers.extend(parent.as_deref());
                    self.parents.extend(parent.as_deref());
                }
            }
            Command::DeleteProvider(it) => {
                self.providers.insert(&it.uuid);
                self.trees.insert(&it.uuid);
            }
            Command::Reshape(it) => {
                self.add_claims(&it.consumers);
                self.providers
                    .extend(it.providers.iter().map(|one| one.provider.as_str()));
            }
            Command::DeleteClass(it) => self.going_classes.push(&it.name),
            Command::RenameClass(it) => self.going_classes.push(&it.from),
            Command::DeleteTrait(it) => self.going_traits.push(&it.name),
            Command::EnsureTrait(it) => {
                self.traits.insert(&it.name);
            }
            Command::ReplaceTraits(it) => {
                self.providers.insert(&it.provider);
                self.traits.extend(it.traits.iter().map(String::as_str));
            }
            Command::CreateClass(_) | Command::EnsureClass(_) => {}
            other => self.providers.extend(provider_of(other)),
        }
    }
}

fn is_about_inventories(command: &Command) -> bool {
    matches!(
        command,
        Command::ReplaceInventories(_)
            | Command::AddInventory(_)
            | Command::UpdateInventory(_)
            | Command::RemoveInventory(_)
            | Command::ClearInventories(_)
    )
}

/// The one provider that a command on its inventories, traits or aggregates names.
fn provider_of(command: &Command) -> Option<&str> {
    Some(match command {
        Command::ReplaceInventories(it) => &it.provider,
        Command::AddInventory(it) => &it.provider,
        Command::UpdateInventory(it) => &it.provider,
        Command::RemoveInventory(it) => &it.provider,
        Command::ClearInventories(it) => &it.provider,
        Command::ClearTraits(it) => &it.provider,
        Command::ReplaceAggregates(it) => &it.provider,
        _ => return None,
    })
}
