//! Hard forks by the lower-case names Python uses. A name that is not known is an error, never the newest fork.

use revm::primitives::hardfork::SpecId;

const NAMES: [(&str, SpecId); 15] = [
    ("frontier", SpecId::FRONTIER),
    ("homestead", SpecId::HOMESTEAD),
    ("tangerine", SpecId::TANGERINE),
    ("spurious_dragon", SpecId::SPURIOUS_DRAGON),
    ("byzantium", SpecId::BYZANTIUM),
    ("petersburg", SpecId::PETERSBURG),
    ("istanbul", SpecId::ISTANBUL),
    ("berlin", SpecId::BERLIN),
    ("london", SpecId::LONDON),
    ("paris", SpecId::MERGE),
    ("shanghai", SpecId::SHANGHAI),
    ("cancun", SpecId::CANCUN),
    ("prague", SpecId::PRAGUE),
    ("osaka", SpecId::OSAKA),
    ("amsterdam", SpecId::AMSTERDAM),
];

pub fn names() -> Vec<&'static str> {
    NAMES.iter().map(|(name, _)| *name).collect()
}

pub fn name(spec: SpecId) -> &'static str {
    NAMES.iter().find(|(_, known)| *known == spec).map_or("unknown", |(name, _)| *name)
}

pub fn parse(name: &str) -> Result<SpecId, String> {
    NAMES
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(_, spec)| *spec)
        .ok_or_else(|| format!("unknown hard fork '{name}'; known: {}", names().join(", ")))
}
