//! The list of schemes. A new scheme is one file and one line here, beside its `mod`.

use std::collections::BTreeMap;

#[allow(clippy::wildcard_imports, reason = "all schemes, so that a new one is not to be named here too")]
use super::*;
use crate::info::Info;
use crate::transport::stream::{EcnMode, Ect};

/// What the results of a scheme are held against, beside values of its source and bands of behaviour, which all have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Validation {
    /// The Linux kernel's own, in the same experiments.
    Kernel,
    /// The test cases of its specification.
    Specification,
    /// Measurements that others have published of it.
    Published,
    /// Its original code, which was given the events of our runs: docs/event-by-event.md.
    Code,
    /// The same, in these profiles.
    CodeInProfiles(&'static str),
    /// An implementation by others, over the same path.
    Implementation,
    /// No more than that.
    Vectors,
    /// Its program, from which it differs: docs/originals.md.
    Approximation,
}

impl Validation {
    /// The same in words.
    pub fn text(self) -> String {
        let words = match self {
            Self::Kernel => "Linux' own in virtual time",
            Self::Specification => "its specification's test cases",
            Self::Published => "published measurements",
            Self::Code => "its original code, event by event",
            Self::CodeInProfiles(profiles) => return format!("{} ({profiles})", Self::Code.text()),
            Self::Implementation => "an implementation by others over the same path",
            Self::Vectors => "values of its source",
            Self::Approximation => "its program; an approximation, since the code is not public",
        };
        words.to_owned()
    }
}

/// A scheme: what it says of itself, and how to make one.
#[derive(Clone, Copy)]
pub struct SchemeEntry {
    /// Name, source, parameters, telemetry.
    pub info: Info,
    /// What its results are held against.
    pub validation: Validation,
    /// Makes one for a flow that starts.
    pub new: fn(Setup) -> Box<dyn Scheme>,
    /// The ECN that it cannot do without.
    pub ecn: Option<EcnNeed>,
}

/// The ECN that a scheme is nothing without; others do with what they get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EcnNeed {
    /// What its receiver has to echo.
    pub mode: EcnMode,
    /// How its packets are marked unless a flow says otherwise.
    pub ect: Ect,
}

const fn entry(info: Info, validation: Validation, new: fn(Setup) -> Box<dyn Scheme>) -> SchemeEntry {
    SchemeEntry { info, validation, new, ecn: None }
}

impl SchemeEntry {
    const fn with_ecn(self, mode: EcnMode, ect: Ect) -> Self {
        Self { ecn: Some(EcnNeed { mode, ect }), ..self }
    }
}

/// Every scheme there is, by name.
pub const SCHEMES: &[SchemeEntry] = &[
    entry(bbr::INFO, Validation::Kernel, bbr::new),
    entry(bbr3::INFO, Validation::Specification, bbr3::new),
    entry(koho::CALIBRATED_KOHO, Validation::Code, koho::new_calibrated_koho),
    entry(copa::INFO, Validation::CodeInProfiles("all but \"paper\""), copa::new),
    entry(cubic::INFO, Validation::Kernel, cubic::new),
    entry(cubic::sce::INFO, Validation::Vectors, cubic::sce::new).with_ecn(EcnMode::Sce, Ect::Ect0),
    entry(dctcp::INFO, Validation::Kernel, dctcp::new).with_ecn(EcnMode::Accurate, Ect::Ect0),
    entry(dctcp_sce::INFO, Validation::Published, dctcp_sce::new).with_ecn(EcnMode::Sce, Ect::Ect0),
    entry(fillp::FILLP, Validation::Approximation, fillp::new_fillp),
    entry(fillp::FILLP_SHEEP, Validation::Approximation, fillp::new_fillp_sheep),
    entry(illinois::INFO, Validation::Kernel, illinois::new),
    entry(indigo::INFO, Validation::Code, indigo::new),
    entry(koho::KOHO_CC, Validation::Code, koho::new_koho_cc),
    entry(ledbat::INFO, Validation::CodeInProfiles("\"libutp\""), ledbat::new),
    entry(ledbat::plus_plus::INFO, Validation::Implementation, ledbat::plus_plus::new),
    entry(pcc::allegro::INFO, Validation::Code, pcc::allegro::new),
    entry(pcc::experimental::INFO, Validation::Code, pcc::experimental::new),
    entry(prague::INFO, Validation::Code, prague::new).with_ecn(EcnMode::Accurate, Ect::Ect1),
    entry(quic_bbr::INFO, Validation::Code, quic_bbr::new),
    entry(quic_cubic::INFO, Validation::Code, quic_cubic::new),
    entry(remy::REMYCC, Validation::Vectors, remy::new_remycc),
    entry(reno::INFO, Validation::Kernel, reno::new),
    entry(reno_sce::INFO, Validation::Published, reno_sce::new).with_ecn(EcnMode::Sce, Ect::Ect0),
    entry(sprout::SPROUT, Validation::Code, sprout::new_sprout),
    entry(sprout::SPROUT_EWMA, Validation::Code, sprout::new_sprout_ewma),
    entry(remy::TAOVA, Validation::CodeInProfiles("\"pantheon\""), remy::new_taova),
    entry(vegas::INFO, Validation::Kernel, vegas::new),
    entry(verus::INFO, Validation::Code, verus::new),
    entry(pcc::vivace::INFO, Validation::Code, pcc::vivace::new),
    entry(westwood::INFO, Validation::Kernel, westwood::new),
];

/// The ECN that the scheme called `name` cannot do without, if there is one.
pub fn needed_ecn(name: &str) -> Option<EcnNeed> {
    SCHEMES.iter().find(|entry| entry.info.name == name)?.ecn
}

/// Makes the scheme called `name` with the parameters that an experiment gives; those of `setup` are replaced.
pub fn build(name: &str, given: &BTreeMap<String, Value>, setup: Setup) -> Result<Box<dyn Scheme>, ParameterError> {
    let (entry, parameters) = resolve(name, given)?;
    Ok((entry.new)(Setup { parameters, ..setup }))
}

/// Whether the scheme called `name` can be made with these parameters, and the files that they name.
pub fn check(name: &str, given: &BTreeMap<String, Value>) -> Result<(), ParameterError> {
    resolve(name, given).map(|_| ())
}

fn resolve(name: &str, given: &BTreeMap<String, Value>) -> Result<(&'static SchemeEntry, Parameters), ParameterError> {
    let entry = SCHEMES
        .iter()
        .find(|entry| entry.info.name == name)
        .ok_or_else(|| ParameterError::NoScheme(name.to_owned()))?;
    let (scheme, declared) = (entry.info.name, entry.info.parameters);
    Ok((entry, Parameters::resolve(scheme, declared, given)?.with_files(scheme, declared)?))
}

#[cfg(test)]
mod tests {
    use super::SCHEMES;

    #[test]
    fn schemes_are_listed_by_name() {
        assert!(SCHEMES.is_sorted_by_key(|entry| entry.info.name));
    }
}
