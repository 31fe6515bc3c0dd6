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
}

/// Every scheme there is.
pub const SCHEMES: &[SchemeEntry] = &[
    SchemeEntry { info: bbr::INFO, validation: Validation::Kernel, new: bbr::new },
    SchemeEntry { info: bbr3::INFO, validation: Validation::Specification, new: bbr3::new },
    SchemeEntry { info: koho::CALIBRATED_KOHO, validation: Validation::Code, new: koho::new_calibrated_koho },
    SchemeEntry { info: copa::INFO, validation: Validation::CodeInProfiles("all but \"paper\""), new: copa::new },
    SchemeEntry { info: cubic::INFO, validation: Validation::Kernel, new: cubic::new },
    SchemeEntry { info: cubic::sce::INFO, validation: Validation::Vectors, new: cubic::sce::new },
    SchemeEntry { info: dctcp::INFO, validation: Validation::Kernel, new: dctcp::new },
    SchemeEntry { info: dctcp_sce::INFO, validation: Validation::Published, new: dctcp_sce::new },
    SchemeEntry { info: fillp::FILLP, validation: Validation::Approximation, new: fillp::new_fillp },
    SchemeEntry { info: fillp::FILLP_SHEEP, validation: Validation::Approximation, new: fillp::new_fillp_sheep },
    SchemeEntry { info: illinois::INFO, validation: Validation::Kernel, new: illinois::new },
    SchemeEntry { info: indigo::INFO, validation: Validation::Code, new: indigo::new },
    SchemeEntry { info: koho::KOHO_CC, validation: Validation::Code, new: koho::new_koho_cc },
    SchemeEntry { info: ledbat::INFO, validation: Validation::CodeInProfiles("\"libutp\""), new: ledbat::new },
    SchemeEntry { info: ledbat::plus_plus::INFO, validation: Validation::Implementation, new: ledbat::plus_plus::new },
    SchemeEntry { info: pcc::allegro::INFO, validation: Validation::Code, new: pcc::allegro::new },
    SchemeEntry { info: pcc::experimental::INFO, validation: Validation::Code, new: pcc::experimental::new },
    SchemeEntry { info: prague::INFO, validation: Validation::Code, new: prague::new },
    SchemeEntry { info: quic_bbr::INFO, validation: Validation::Code, new: quic_bbr::new },
    SchemeEntry { info: quic_cubic::INFO, validation: Validation::Code, new: quic_cubic::new },
    SchemeEntry { info: remy::REMYCC, validation: Validation::Vectors, new: remy::new_remycc },
    SchemeEntry { info: reno::INFO, validation: Validation::Kernel, new: reno::new },
    SchemeEntry { info: reno_sce::INFO, validation: Validation::Published, new: reno_sce::new },
    SchemeEntry { info: pcc::vivace::INFO, validation: Validation::Code, new: pcc::vivace::new },
    SchemeEntry { info: sprout::SPROUT, validation: Validation::Code, new: sprout::new_sprout },
    SchemeEntry { info: sprout::SPROUT_EWMA, validation: Validation::Vectors, new: sprout::new_sprout_ewma },
    SchemeEntry { info: remy::TAOVA, validation: Validation::CodeInProfiles("\"pantheon\""), new: remy::new_taova },
    SchemeEntry { info: vegas::INFO, validation: Validation::Kernel, new: vegas::new },
    SchemeEntry { info: verus::INFO, validation: Validation::Code, new: verus::new },
    SchemeEntry { info: westwood::INFO, validation: Validation::Kernel, new: westwood::new },
];

/// The ECN that a scheme cannot do without.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EcnNeed {
    /// What its receiver has to echo.
    pub mode: EcnMode,
    /// How its packets are marked unless a flow says otherwise.
    pub ect: Ect,
}

/// The schemes that are nothing without ECN; all others do with what they get.
const ECN_NEEDS: &[(&str, EcnNeed)] = &[
    (cubic::sce::INFO.name, EcnNeed { mode: EcnMode::Sce, ect: Ect::Ect0 }),
    (dctcp::INFO.name, EcnNeed { mode: EcnMode::Accurate, ect: Ect::Ect0 }),
    (dctcp_sce::INFO.name, EcnNeed { mode: EcnMode::Sce, ect: Ect::Ect0 }),
    (prague::INFO.name, EcnNeed { mode: EcnMode::Accurate, ect: Ect::Ect1 }),
    (reno_sce::INFO.name, EcnNeed { mode: EcnMode::Sce, ect: Ect::Ect0 }),
];

/// The ECN that the scheme called `name` cannot do without, if there is one.
pub fn needed_ecn(name: &str) -> Option<EcnNeed> {
    ECN_NEEDS.iter().find(|(needy, _)| *needy == name).map(|(_, need)| *need)
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
