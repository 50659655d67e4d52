//! Recorded paths of a fleet as bytes, for the next process that plays the same world.
//!
//! Who keeps them says for which world and kernel. Here the rest is compared: the block, the hard fork, and of each path
//! what it relies on. Taken up paths are compared with the interpreter at first, as recorded ones are.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use revm::primitives::{Address, B256, HashMap, HashSet};
use serde::{Deserialize, Serialize};

use super::{
    Call, Sites, Specialiser,
    programs::program_site::ProgramSite,
    sites::{
        paths::SavedPaths,
        shape::{Shape, Template},
        site::Site,
    },
};
use crate::trace::Fact;

/// Slots and codes that rows have changed, beyond which none is kept.
const MOST_CHANGED: usize = 1 << 16;

/// A call site as another process knows it.
type Key = (Template, Address, Address);

/// The paths of one site, and what they rely on.
#[derive(Serialize, Deserialize)]
struct SavedSite {
    template: Template,
    to: Address,
    sender: Address,
    folded: Vec<Fact>,
    paths: SavedPaths,
}

/// The paths of one program.
#[derive(Serialize, Deserialize)]
struct SavedProgram {
    program: B256,
    folded: Vec<Fact>,
    paths: SavedPaths,
}

#[derive(Serialize, Deserialize)]
struct Document {
    surroundings: String,
    changed: Vec<Fact>,
    sites: Vec<SavedSite>,
    programs: Vec<SavedProgram>,
    refused: Refused,
}

/// Sites and programs of which some replay differed from the interpreter: they are its for good.
#[derive(Clone, Default, Serialize, Deserialize)]
struct Refused {
    sites: HashSet<Key>,
    programs: HashSet<B256>,
}

/// Sites and programs of another process that have not come up here.
#[derive(Default)]
pub struct Waiting {
    sites: Mutex<HashMap<Key, SavedSite>>,
    programs: Mutex<HashMap<B256, SavedProgram>>,
    refused: Mutex<Refused>,
}

impl Waiting {
    fn refused(&self) -> MutexGuard<'_, Refused> {
        self.refused.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn sites(&self) -> MutexGuard<'_, HashMap<Key, SavedSite>> {
        self.sites.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn programs(&self) -> MutexGuard<'_, HashMap<B256, SavedProgram>> {
        self.programs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Specialiser {
    /// What recordings take for equal in every row, besides the state.
    fn surroundings(&self) -> String {
        let block = &self.block;
        format!(
            "{:?} {} {} {} {:?} {:?} {:?}",
            self.settings,
            block.beneficiary,
            block.gas_limit,
            block.difficulty,
            block.prevrandao,
            block.blob_excess_gas_and_price,
            block.slot_num
        )
    }

    /// All paths as bytes, those that are still waiting too.
    pub fn save(&self) -> Result<Vec<u8>, String> {
        let sites = self.sites.read().unwrap_or_else(PoisonError::into_inner);
        let templates = Shape::templates(&sites.keys().map(|(id, ..)| *id).collect::<HashSet<_>>());
        let mut saved: Vec<SavedSite> = Vec::new();
        for ((id, to, sender), site) in sites.iter() {
            let (Some(template), Some((folded, paths))) = (templates.get(id), site.saved(self)) else { continue };
            saved.push(SavedSite { template: template.clone(), to: *to, sender: *sender, folded, paths });
        }
        let (waiting, unused) = (self.waiting.sites(), self.waiting.programs());
        let programs = self.saved_programs();
        let parts = Parts {
            surroundings: self.surroundings(),
            changed: self.watch.changed(MOST_CHANGED).unwrap_or_default(),
            sites: saved.iter().chain(waiting.values()).collect(),
            programs: programs.iter().chain(unused.values()).collect(),
            refused: self.refused(&sites, &templates),
        };
        serde_json::to_vec(&parts).map_err(|error| error.to_string())
    }

    /// What is refused here, and what was where paths were taken up from.
    fn refused(&self, sites: &Sites, templates: &HashMap<u64, Template>) -> Refused {
        let mut refused = self.waiting.refused().clone();
        for ((id, to, sender), _) in sites.iter().filter(|(_, site)| site.recorded.counts.is_refused()) {
            refused.sites.extend(templates.get(id).map(|template| (template.clone(), *to, *sender)));
        }
        if let Some(programs) = &self.programs {
            let programs = programs.read().unwrap_or_else(PoisonError::into_inner);
            let those = programs.values().filter(|site| site.recorded.counts.is_refused());
            refused.programs.extend(those.map(|site| site.fingerprint));
        }
        refused
    }

    fn saved_programs(&self) -> Vec<SavedProgram> {
        let Some(programs) = &self.programs else { return Vec::new() };
        let programs = programs.read().unwrap_or_else(PoisonError::into_inner);
        let saved = |site: &Arc<ProgramSite>| {
            let (folded, paths) = site.saved(self)?;
            Some(SavedProgram { program: site.fingerprint, folded, paths })
        };
        programs.values().filter_map(saved).collect()
    }

    /// Let paths of another process wait for their calls: how many.
    pub fn load(&self, bytes: &[u8]) -> Result<usize, String> {
        let document: Document = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
        if document.surroundings != self.surroundings() {
            return Err("they were recorded in another block or under other rules".into());
        }
        self.watch.change(document.changed);
        let of_sites: usize = document.sites.iter().map(|site| site.paths.count()).sum();
        let of_programs: usize = document.programs.iter().map(|program| program.paths.count()).sum();
        *self.waiting.refused() = document.refused;
        let mut waiting = self.waiting.sites();
        for site in document.sites {
            waiting.insert((site.template.clone(), site.to, site.sender), site);
        }
        let mut waiting = self.waiting.programs();
        waiting.extend(document.programs.into_iter().map(|program| (program.program, program)));
        Ok(of_sites + of_programs)
    }

    /// Give a new site the paths that wait for it.
    pub fn supply(&self, site: &Site, call: &Call<'_>) {
        let (mut waiting, refused) = (self.waiting.sites(), self.waiting.refused());
        if waiting.is_empty() && refused.sites.is_empty() {
            return;
        }
        let shape = call.shape;
        let key = ((shape.data.clone(), shape.holes.clone(), shape.gas), call.to, call.sender);
        if refused.sites.contains(&key) {
            site.recorded.counts.refuse();
            return;
        }
        let Some(saved) = waiting.remove(&key) else { return };
        drop((waiting, refused));
        site.take_up(self, &saved.folded, saved.paths);
    }

    /// Give a new program the paths that wait for it.
    pub fn supply_program(&self, site: &Arc<ProgramSite>, inputs: usize) {
        if self.waiting.refused().programs.contains(&site.fingerprint) {
            site.recorded.counts.refuse();
            return;
        }
        let Some(saved) = self.waiting.programs().remove(&site.fingerprint) else { return };
        site.take_up(self, &saved.folded, saved.paths, inputs);
    }
}

/// A document of borrowed sites.
#[derive(Serialize)]
struct Parts<'a> {
    surroundings: String,
    changed: Vec<Fact>,
    sites: Vec<&'a SavedSite>,
    programs: Vec<&'a SavedProgram>,
    refused: Refused,
}
