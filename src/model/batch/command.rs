//! The commands in the writer's queue, and their answers.

use crate::model::allocations::ConsumerClaim;
use crate::model::claims::{self, ClaimAnswer};
use crate::model::snapshot::stamp::Stamp;
use crate::model::{
    aggregates, allocations, inventories, limits, providers, reshaper, resource_classes, resource_providers, traits,
    workloads,
};
use crate::mutants::{self, Mutant};

/// A client's change, as the writer takes the change from the queue.
#[derive(Debug, Clone)]
pub enum Command {
    CreateProvider(resource_providers::Create),
    UpdateProvider(resource_providers::Update),
    DeleteProvider(resource_providers::Delete),
    ReplaceInventories(inventories::Replace),
    AddInventory(inventories::Add),
    UpdateInventory(inventories::Update),
    RemoveInventory(inventories::Remove),
    ClearInventories(inventories::Clear),
    ReplaceTraits(traits::Replace),
    ClearTraits(traits::Clear),
    ReplaceAggregates(aggregates::Replace),
    EnsureTrait(traits::Ensure),
    DeleteTrait(traits::Delete),
    CreateClass(resource_classes::Create),
    EnsureClass(resource_classes::Ensure),
    RenameClass(resource_classes::Rename),
    DeleteClass(resource_classes::Delete),
    Claim(allocations::Claim),
    ClaimFirst(claims::ClaimFirst),
    PlaceInBatch(Box<claims::PlaceInBatch>),
    SetLimit(limits::Set),
    Release(allocations::Release),
    Reshape(reshaper::Reshape),
    Describe(providers::DescribeAll),
    SetStates(providers::SetStates),
    SetWorkload(workloads::Set),
    PutInBatch(Box<workloads::PutInBatch>),
}

/// The number of rows for which a search inside the batch counts: so the command is a batch of its own.
const SEARCH_ROWS: usize = 1_000;

impl Command {
    /// The number of rows that the command writes, as far as the command shows: consumers, their allocations, and the
    /// inventories, traits, aggregates and descriptions of providers.
    pub fn written_rows(&self) -> usize {
        match self {
            Command::Claim(claim) => rows_of_claims(&claim.consumers),
            Command::ClaimFirst(claim) => claim.rows(),
            Command::SetWorkload(set) => set.rows(),
            Command::Reshape(reshape) => {
                let inventories = reshape.providers.iter().map(|reshaped| reshaped.inventories.len());
                rows_of_claims(&reshape.consumers) + inventories.sum::<usize>()
            }
            Command::ReplaceInventories(replace) => replace.inventories.len(),
            Command::ReplaceTraits(replace) => replace.traits.len(),
            Command::Describe(describe) => describe.rows(),
            Command::SetStates(set) => set.hosts.len(),
            Command::ReplaceAggregates(replace) => replace.aggregates.len(),
            // A search takes as long as a large command.
            Command::PlaceInBatch(_) | Command::PutInBatch(_) => SEARCH_ROWS,
            _ => 1,
        }
    }

    /// Whether the candidates of a claim were found on a snapshot that may lack commits of peers.
    pub fn is_outdated(&self, stamp: &Stamp) -> bool {
        let searched = match self {
            Command::ClaimFirst(claim) => claim.searched,
            _ => None,
        };
        searched.is_some_and(|searched| searched != *stamp) && !mutants::is(Mutant::TrustIdle)
    }

    /// The consumers' claims of a claim, a claim with a choice or a workload. Only a claim without a choice has
    /// allocations.
    pub fn consumer_claims(&self) -> Vec<&ConsumerClaim> {
        match self {
            Command::Claim(claim) => claim.consumers.iter().collect(),
            Command::ClaimFirst(claim) => claim.consumers.iter().map(|consumer| &consumer.claim).collect(),
            Command::SetWorkload(set) => set.placed.iter().map(|replica| &replica.claim).collect(),
            _ => Vec::new(),
        }
    }
}

fn rows_of_claims(consumers: &[ConsumerClaim]) -> usize {
    let allocations = consumers.iter().flat_map(|claim| &claim.allocations);
    consumers.len() + allocations.map(|(_, resources)| resources.len()).sum::<usize>()
}

/// The answer of a command, given after its commit.
#[derive(Debug, Clone)]
pub enum Answer {
    Done,
    Provider(resource_providers::Provider),
    Inventories(inventories::Inventories),
    Traits(traits::ProviderTraits),
    Aggregates(aggregates::ProviderAggregates),
    Ensured(Ensured),
    Claim(ClaimAnswer),
    Placed(claims::PlacedInBatch),
    Described(Vec<providers::Described>),
    Limit(limits::Limit),
    Workload(workloads::SetAnswer),
    WorkloadInBatch(Box<workloads::SetInBatch>),
}

/// The answer of a `PUT` that creates a missing class or trait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ensured {
    pub created: bool,
    /// When the class or trait was created.
    pub since: crate::model::Moment,
}

/// A command with the type of its answer, so a caller needs no `match`.
pub trait Write: Send + 'static {
    type Answer: Send;
    fn into_command(self) -> Command;
    /// The answer in its type, or `None` if the answer belongs to another command.
    fn typed(answer: Answer) -> Option<Self::Answer>;
}

macro_rules! write_commands {
    ($($command:ty => $variant:ident answers $answer:ident($type:ty);)*) => {$(
        impl Write for $command {
            type Answer = $type;
            fn into_command(self) -> Command {
                Command::$variant(self)
            }
            fn typed(answer: Answer) -> Option<$type> {
                match answer {
                    Answer::$answer(answer) => Some(answer),
                    _ => None,
                }
            }
        }
    )*};
    ($($command:ty => $variant:ident;)*) => {$(
        impl Write for $command {
            type Answer = ();
            fn into_command(self) -> Command {
                Command::$variant(self)
            }
            fn typed(answer: Answer) -> Option<()> {
                matches!(answer, Answer::Done).then_some(())
            }
        }
    )*};
}

write_commands! {
    resource_providers::Create => CreateProvider answers Provider(resource_providers::Provider);
    resource_providers::Update => UpdateProvider answers Provider(resource_providers::Provider);
    inventories::Replace => ReplaceInventories answers Inventories(inventories::Inventories);
    inventories::Add => AddInventory answers Inventories(inventories::Inventories);
    inventories::Update => UpdateInventory answers Inventories(inventories::Inventories);
    traits::Replace => ReplaceTraits answers Traits(traits::ProviderTraits);
    traits::Ensure => EnsureTrait answers Ensured(Ensured);
    aggregates::Replace => ReplaceAggregates answers Aggregates(aggregates::ProviderAggregates);
    resource_classes::Ensure => EnsureClass answers Ensured(Ensured);
    limits::Set => SetLimit answers Limit(limits::Limit);
    claims::ClaimFirst => ClaimFirst answers Claim(ClaimAnswer);
    workloads::Set => SetWorkload answers Workload(workloads::SetAnswer);
    providers::DescribeAll => Describe answers Described(Vec<providers::Described>);
    providers::SetStates => SetStates answers Described(Vec<providers::Described>);
}

impl Write for workloads::PutInBatch {
    type Answer = workloads::SetInBatch;
    fn into_command(self) -> Command {
        Command::PutInBatch(Box::new(self))
    }
    fn typed(answer: Answer) -> Option<Self::Answer> {
        match answer {
            Answer::WorkloadInBatch(written) => Some(*written),
            _ => None,
        }
    }
}

impl Write for claims::PlaceInBatch {
    type Answer = claims::PlacedInBatch;
    fn into_command(self) -> Command {
        Command::PlaceInBatch(Box::new(self))
    }
    fn typed(answer: Answer) -> Option<Self::Answer> {
        match answer {
            Answer::Placed(placed) => Some(placed),
            _ => None,
        }
    }
}

write_commands! {
    resource_providers::Delete => DeleteProvider;
    inventories::Remove => RemoveInventory;
    inventories::Clear => ClearInventories;
    traits::Clear => ClearTraits;
    traits::Delete => DeleteTrait;
    resource_classes::Create => CreateClass;
    resource_classes::Rename => RenameClass;
    resource_classes::Delete => DeleteClass;
    allocations::Claim => Claim;
    allocations::Release => Release;
    reshaper::Reshape => Reshape;
}
