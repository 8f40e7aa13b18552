//! Tests of the whole layer: the tables of published systems figure by figure, and random clusters against [`naive`].

mod cells;
mod figures;
mod hostile;
mod interrupts;
mod majorities;
mod many_roles;
mod mixed;
mod naive;
mod over_time;
mod placed_figures;
mod properties;
mod random_cases;
mod safety;
mod several_hosts;
mod walks;
mod within;
mod within_properties;
mod worlds;
