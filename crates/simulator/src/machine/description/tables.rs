// SPDX-License-Identifier: MIT OR Apache-2.0
//! The tables that clusters refer to by name.

use super::core_type::{self, CoreTypeRow};
use super::opp::{self, OppTable};
use super::package::{self, PackageRow};
use super::reader::{Named, Placed, Table};
use super::schema::{self, Shape};
use super::{idle, memory, provenance};
use crate::input::InputError;
use crate::machine::{IdleState, MemoryDomain, Provenance};

/// Sources, in the order in which their tables are read.
pub(super) type Sources = Vec<Placed<Provenance>>;

/// What clusters refer to.
#[derive(Debug, Clone)]
pub(super) struct Tables {
    pub(super) core_types: Named<CoreTypeRow>,
    pub(super) opp_tables: Named<OppTable>,
    pub(super) idle_tables: Named<Vec<IdleState>>,
    pub(super) memories: Named<MemoryDomain>,
    pub(super) packages: Named<PackageRow>,
}

impl Tables {
    pub(super) fn read(document: &Table<'_>, sources: &mut Sources) -> Result<Self, InputError> {
        let memories = document.named("memory", &schema::MEMORY)?;
        for (_, table) in &memories {
            sources.extend(provenance::read(table)?);
        }
        Ok(Self {
            core_types: read_named(document, ("core_type", "core type"), &schema::CORE_TYPE, sources, core_type::read)?,
            opp_tables: read_named(document, ("opp_table", "OPP table"), &schema::OPP_TABLE, sources, |_, table| {
                opp::read(table)
            })?,
            idle_tables: read_named(
                document,
                ("idle_table", "idle table"),
                &schema::IDLE_TABLE,
                sources,
                |_, table| idle::read(table),
            )?,
            memories: memory::read(&memories)?,
            packages: read_named(document, ("package", "package"), &schema::PACKAGE, sources, |_, table| {
                package::read(table)
            })?,
        })
    }
}

/// Reads the tables `key.NAME` of `(key, kind)` row by row.
pub(super) fn read_named<T>(
    document: &Table<'_>,
    (key, kind): (&str, &'static str),
    shape: &'static Shape,
    sources: &mut Sources,
    read: impl Fn(&str, &Table<'_>) -> Result<T, InputError>,
) -> Result<Named<T>, InputError> {
    let mut named = Named { kind, names: Vec::new(), rows: Vec::new() };
    for (name, table) in document.named(key, shape)? {
        named.rows.push(read(name, &table)?);
        named.names.push(name.to_owned());
        sources.extend(provenance::read(&table)?);
    }
    Ok(named)
}

/// Reads the one table `key`, which must be there.
pub(super) fn read_single<T>(
    document: &Table<'_>,
    key: &str,
    shape: &'static Shape,
    sources: &mut Sources,
    read: impl Fn(&Table<'_>) -> Result<T, InputError>,
) -> Result<T, InputError> {
    let table = document.table_if(key, shape)?.ok_or_else(|| document.missing(key, &format!("a table `[{key}]`")))?;
    sources.extend(provenance::read(&table)?);
    read(&table)
}
